"""Puts check-sharding, and the Z3 that it needs, into the wheel.

The binary is $SHARDPROOF_CHECKER, or that of the release build beside this folder (ci/build release).
"""
import os
import re
import shutil
import subprocess
from pathlib import Path

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py
from setuptools.dist import Distribution


class WithBinary(build_py):
    def run(self):
        super().run()
        built = Path(__file__).resolve().parents[2] / ".build/release/check-sharding"
        binary = Path(os.environ.get("SHARDPROOF_CHECKER", built))
        if not binary.is_file():
            print(f"no {binary}: the wheel is without check-sharding, which is looked for on PATH")
            return
        target = Path(self.build_lib) / "shardproof/bin"
        target.mkdir(parents=True, exist_ok=True)
        shutil.copy2(binary, target / "check-sharding")
        linked = subprocess.run(["ldd", binary], capture_output=True, text=True).stdout
        for path in re.findall(r"=> (\S*/libz3\.so\S*)", linked):
            shutil.copy2(os.path.realpath(path), target / Path(path).name)
        if shutil.which("strip"):
            for file in target.iterdir():
                subprocess.run(["strip", file], check=False)


class AnyPython(bdist_wheel):
    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


class OfOnePlatform(Distribution):
    def has_ext_modules(self):
        return True


setup(cmdclass={"build_py": WithBinary, "bdist_wheel": AnyPython}, distclass=OfOnePlatform)
