"""Puts check-sharding, and the Z3 that it needs, into the wheel.

The binary is $SHARDPROOF_CHECKER, or that of a build beside this folder: of ci/build check, which needs no CUDA and runs on
every machine, else of ci/build release.
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
        builds = Path(__file__).resolve().parents[2] / ".build"
        built = [builds / name / "check-sharding" for name in ("check", "release")]
        binary = next((path for path in [Path(os.environ.get("SHARDPROOF_CHECKER", "")), *built] if path.is_file()), None)
        if not binary:
            print("no check-sharding in .build: the wheel is without it, and looks for it on PATH")
            return
        target = Path(self.build_lib) / "shardproof/bin"
        target.mkdir(parents=True, exist_ok=True)
        shutil.copy2(binary, target / "check-sharding")
        linked = subprocess.run(["ldd", binary], capture_output=True, text=True).stdout
        if cuda := re.findall(r"(libcu\w+\.so\S*) =>", linked):
            print(f"{binary} needs {cuda[0]}, which the wheel does not carry: ci/build check makes one that does not")
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
