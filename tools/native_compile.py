"""The inner half of tools.native, in a process of its own: checks and compiles the copy in a folder."""

import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from oncelog import native
from oncelog.compiled import MODULES
from tools.native import OPTIMIZE, OPTIONS
from tools.native_checks import findings


def paths() -> list[str]:
    """The files to compile, relative to the folder above the package."""
    above = os.path.dirname(native.PACKAGE)
    return [os.path.relpath(native.source_of(each), above) for each in MODULES]


def main(work: str, jobs: int) -> int:
    from mypyc.build import mypycify
    from setuptools import Distribution
    from setuptools.command.build_ext import build_ext

    os.chdir(work)
    found, read = findings(paths(), OPTIONS)
    if found:
        sys.stdout.write("\n".join(found) + "\n")
        return 1
    Path("read.json").write_text(json.dumps(read))
    extensions = mypycify([*OPTIONS, *paths()], opt_level=OPTIMIZE, debug_level="0", multi_file=True)
    command: Any = build_ext(Distribution({"name": "oncelog", "ext_modules": extensions}))
    command.build_lib, command.build_temp = "made", "objects"
    command.ensure_finalized()
    build_one = command.build_extension

    def build_extension(extension: Any) -> None:
        """Its files side by side; setuptools would compile one after the other."""
        compile_one = command.compiler.compile

        def compile_all(sources: list[str], **how: Any) -> list[str]:
            def run(source: str) -> list[str]:
                return compile_one([source], **how)

            with ThreadPoolExecutor(jobs) as threads:
                return [made for each in threads.map(run, sources) for made in each]

        command.compiler.compile = compile_all
        build_one(extension)
        command.compiler.compile = compile_one

    command.build_extension = build_extension
    command.run()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2])))
