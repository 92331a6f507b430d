"""An installed tree of the build, and programs that are compiled against it."""

import functools
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))

import programs  # noqa: E402 (found through the line above)


def run(*words, **options):
    """Runs a command; what it printed, if it succeeded."""
    finished = subprocess.run([str(word) for word in words], text=True, capture_output=True,
                              timeout=programs.RUN_SECONDS_MAX, check=False, **options)
    assert finished.returncode == 0, f"{words}\n{finished.stdout}\n{finished.stderr}"
    return finished.stdout


def cached(name):
    """A setting of the build."""
    text = (programs.BUILD / "CMakeCache.txt").read_text()
    return re.search(rf"^{name}:\w+=(.*)$", text, re.MULTILINE).group(1)


class Installed:
    """What `cmake --install` puts below `prefix`."""

    def __init__(self, prefix):
        self.prefix = prefix
        for component in ("runtime", "dev", "tools"):
            run("cmake", "--install", programs.BUILD, "--prefix", prefix, "--component", component)

    @functools.cached_property
    def library_folder(self):
        return next(self.prefix.rglob("libplait_runtime.so")).parent

    @functools.cached_property
    def flags(self):
        """Of a compiler; a sanitizer has to be in the program too."""
        sanitizers = cached("PLAIT_SANITIZE")
        return [f"-fsanitize={sanitizers}"] if sanitizers else []

    def environment(self):
        """For programs; leaks of libraries that they load and keep are not the programs'."""
        return {**programs.environment(), "LD_LIBRARY_PATH": str(self.library_folder),
                "ASAN_OPTIONS": "detect_leaks=0"}

    def package_flags(self):
        environment = {**os.environ, "PKG_CONFIG_PATH": str(self.library_folder / "pkgconfig")}
        return run("pkg-config", "--cflags", "--libs", "plait_runtime", env=environment).split()

    def compile(self, source, program, *options):
        """As a user does who has pkg-config."""
        compiler = "cc" if source.suffix == ".c" else "c++"
        run(compiler, *options, *self.flags, source, "-o", program, *self.package_flags())
        return program

    def build(self, folder, build):
        """A CMake project that finds the package."""
        flags = " ".join(self.flags)
        run("cmake", "-S", folder, "-B", build, f"-DCMAKE_PREFIX_PATH={self.prefix}",
            "-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_C_FLAGS={flags}", f"-DCMAKE_CXX_FLAGS={flags}")
        run("cmake", "--build", build)
