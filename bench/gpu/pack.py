#!/usr/bin/env python3
"""Puts all that is compiled for `bench/gpu/run`, beside the wheel, into one folder.

    bench/gpu/pack.py build/gpu-pack         # where plait is built
    bench/gpu/run --pack build/gpu-pack --wheel build/wheel/plait-*.whl --out results

The folder has the recorder, the tests that need a GPU, the shared libraries that these need and a
machine may lack, and the list of kernels. Programs are stripped. What runs them needs no compiler,
no CMake and no headers: a C library as new as that of this machine, Python and CUDA's libraries.
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
RECORDER = "plait-gpu-record"
KERNEL_LIST = "kernels.jsonl"
# By the step of `run` that runs them: where they lie in a build folder.
PROGRAMS = {"recorder": RECORDER, "conformance": "tests/gpu_conformance_test"}
# Every machine has these.
SYSTEM_LIBRARIES = re.compile(r"(libc|libm|libstdc\+\+|libgcc_s)\.so")


def pack_program(program, folder):
    """Copies a program and its libraries, to lib/ beside it."""
    libraries = folder / "lib"
    libraries.mkdir(parents=True, exist_ok=True)
    shutil.copy(program, folder)
    subprocess.run(["strip", "--strip-unneeded", folder / program.name], check=True)
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    for name, path in re.findall(r"(\S+) => (/\S+)", listed):
        if not SYSTEM_LIBRARIES.match(name):
            shutil.copy(path, libraries / name)


def list_kernels(plait, path, tiny):
    """Those of all models, as the cuda backend offers them."""
    words = [sys.executable, HERE / "kernels.py", "-o", path, "--plait", plait]
    subprocess.run(words + (["--tiny"] if tiny else []), check=True)


def size_of(folder):
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, help="is made anew")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", metavar="FOLDER",
                        help="where plait is built (build)")
    parser.add_argument("--kernels", type=pathlib.Path, metavar="FILE",
                        help="a list that is there already, instead of making one")
    parser.add_argument("--tiny", action="store_true", help="a list of light models")
    arguments = parser.parse_args()
    programs = [arguments.build / place for place in PROGRAMS.values()]
    missing = [program for program in programs if not program.is_file()]
    if missing:
        parser.error(f"no {missing[0]}: build {missing[0].name}")
    folder = arguments.folder
    shutil.rmtree(folder, ignore_errors=True)
    for program in programs:
        pack_program(program, folder)
    if arguments.kernels:
        shutil.copy(arguments.kernels, folder / KERNEL_LIST)
    else:
        list_kernels(arguments.build / "plait", folder / KERNEL_LIST, arguments.tiny)
    print(f"{folder}: {size_of(folder) / 2**20:.1f} MiB, "
          f"{', '.join(program.name for program in programs)}, {KERNEL_LIST}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
