"""python -m shardproof MODULE:FUNCTION SHAPE..: proves a function that is marked with
@shardproof.implements(model). A shape is 4,6,8 or, of integers, 4,6:int32; () for a scalar."""
from __future__ import annotations

import argparse
import importlib
import os
import signal
import sys

EXIT = {"proved": 0, "refuted": 1, "unknown": 2, "invalid": 3}


def shape_of(text: str):
    import jax

    sizes, _, dtype = text.partition(":")
    try:
        numbers = tuple(int(n) for n in sizes.strip("()").split(",") if n)
        return jax.ShapeDtypeStruct(numbers, dtype or "float32")
    except (TypeError, ValueError):
        raise argparse.ArgumentTypeError(f"{text} is not a shape: write 4,6,8 or, of integers, 4,6:int32") from None


def mesh_of(text: str) -> dict[str, int]:
    try:
        return {a: int(n) for a, n in (x.split("=") for x in text.split(","))}
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text} is not a mesh: write d=2,t=4") from None


def main(argv: list[str] | None = None) -> int:
    """The exit code: that of check-sharding."""
    parser = argparse.ArgumentParser(prog="python -m shardproof", description=__doc__)
    parser.add_argument("function", help="MODULE:FUNCTION")
    parser.add_argument("shapes", nargs="*", type=shape_of, help="of its arguments; by default those in the mark")
    parser.add_argument("--mesh", type=mesh_of, help="d=2,t=4; by default the mesh of shard_map")
    parser.add_argument("--keep", metavar="FILE", help="where the .shard text is written")
    parser.add_argument("--html", metavar="FILE", help="the report as a page")
    parser.add_argument("--one", action="store_true", help="for this mesh and these sizes alone")
    options = parser.parse_args(argv)
    module, _, name = options.function.partition(":")
    sys.path.insert(0, os.getcwd())
    try:
        function = getattr(importlib.import_module(module), name, None)
    except ModuleNotFoundError as error:
        if error.name != module.partition(".")[0]:  # one that the user's module imports
            raise
        parser.error(f"there is no module {module} in {os.getcwd()} or on the path")
    if function is None:
        parser.error(f"{module} has no {name or 'function: write MODULE:FUNCTION'}")
    if not hasattr(function, "__shardproof__"):
        parser.error(f"{options.function} is not marked with @shardproof.implements(model)")
    from .api import prove

    report = prove(function, *options.shapes, mesh=options.mesh, keep=options.keep, meshes=1 if options.one else 3)
    if options.html:
        with open(options.html, "w") as page:
            page.write(f"<!doctype html><meta charset=utf-8>{report._repr_html_()}")
    print(report)
    return EXIT[report.verdict]


if __name__ == "__main__":
    if hasattr(signal, "SIGPIPE"):  # a reader that ends, such as head, is no error
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.exit(main())
