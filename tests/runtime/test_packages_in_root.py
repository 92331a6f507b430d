"""The Debian packages in a clean Debian root: what apt installs with them is all that they need,
and nothing is left of them. Each test goes on with the root as the ones before have left it."""

import json
import os
import shutil
import subprocess

import numpy as np
import pytest
from installed import ROOT, cached, run

import models

pytestmark = [pytest.mark.long,
              pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("mmdebstrap"),
                                 reason="needs root and mmdebstrap"),
              pytest.mark.skipif(bool(cached("PLAIT_SANITIZE")), reason="nobody packs a sanitizer")]

# What programs are made with by those who install the header.
COMPILERS = ("gcc", "libc6-dev", "pkg-config", "cmake", "make")
UNITS = ["plait-worker@.service", "plaitd.service"]
INSTANCES = ["plait-worker@cpu.service", "plaitd.service"]
WANTED = "etc/systemd/system/multi-user.target.wants"
CONFIGURATION = "/etc/plait/plaitd.toml"
# Of what the units keep where their users are made up when they start.
KEPT = ("var/lib/private/plait/jobs.sqlite", "var/cache/private/plait-worker/kernel")


class Root:
    """The root of a machine that has the packages at hand and nothing of them installed."""

    def __init__(self, path, packages):
        self.path = path
        run("mmdebstrap", "--variant=minbase", "bookworm", path)
        (path / "work").mkdir()
        self.files = {}
        for name, package in packages.items():
            shutil.copy(package, path / "work")
            self.files[name] = f"/work/{package.name}"
        self.apt("update")

    def run(self, *words):
        return run("chroot", self.path, *words, env={
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C",
            "DEBIAN_FRONTEND": "noninteractive", "XDG_CACHE_HOME": "/work/cache",
            "PLAIT_RUNTIMES_PYTHON": "none"})

    def apt(self, *words):
        self.run("apt-get", "--quiet", "--yes", "--no-install-recommends", *words)

    def install(self, *names):
        """A package of the build, or one of Debian's."""
        self.apt("install", *(self.files.get(name, name) for name in names))

    def state(self, package):
        """As dpkg abbreviates it: "ii" is installed, "rc" left its configuration."""
        listed = self.run("dpkg-query", "-f", "${Package} ${db:Status-Abbrev}\n", "-W").splitlines()
        return dict(line.split() for line in listed).get(package)

    def binaries(self, package):
        """The programs and libraries of a package."""
        for name in self.run("dpkg", "-L", package).splitlines():
            path = self.path / name.lstrip("/")
            if path.is_file() and not path.is_symlink() and path.read_bytes()[:4] == b"\x7fELF":
                yield name


@pytest.fixture(scope="module")
def root(packages, tmp_path_factory):
    made = Root(tmp_path_factory.mktemp("root") / "bookworm", packages)
    subprocess.run(["mount", "-t", "proc", "proc", made.path / "proc"], check=True)
    yield made
    subprocess.run(["umount", made.path / "proc"], check=True)


@pytest.mark.parametrize("package", ["libplait-runtime0", "plait"])
def test_apt_brings_all_that_is_linked(package, root):
    root.install(package)
    assert root.state(package) == "ii"
    binaries = list(root.binaries(package))
    assert binaries
    for name in binaries:
        # What libplait_runtime opens finds the other library of its folder open.
        folder = os.path.dirname(name) if name.startswith("/usr/lib/plait/") else ""
        found = root.run("env", f"LD_LIBRARY_PATH={folder}", "ldd", name)
        assert "not found" not in found, f"{name}\n{found}"
    assert "libplait_runtime.so.0 (libc6" in root.run("ldconfig", "-p")


def test_the_programs_run(root):
    (root.path / "work/model.onnx").write_bytes(models.light_model("tiny_resnet"))
    assert root.run("plait", "--version").startswith("plait ")
    checks = json.loads(root.run("plait", "doctor", "--json"))["checks"]
    assert not [check for check in checks if check["level"] == "error"]
    report = json.loads(root.run("plait", "optimize", "/work/model.onnx", "-o", "/work/opt.onnx",
                                 "--budget", "5s", "--json"))
    assert report["speedup"] >= 1 and report["equivalence"]["verdict"] == "equivalent"
    root.run("plait", "verify", "/work/model.onnx", "/work/opt.onnx", "--plan")


def test_programs_are_compiled_with_the_header(root):
    root.install("libplait-runtime-dev", *COMPILERS)
    shutil.copytree(ROOT / "runtime/examples/c", root.path / "work/c")
    root.run("sh", "-ec", "cd /work/c; cc -Wall -Werror classify.c -o /work/by_pkg_config "
             "$(pkg-config --cflags --libs plait_runtime); cmake -B build . && cmake --build build")
    judge = models.session_of((root.path / "work/model.onnx").read_bytes())
    (value,) = judge.get_inputs()
    image = np.random.default_rng(5).standard_normal(value.shape).astype(np.float32)
    (root.path / "work/input.bin").write_bytes(image.tobytes())
    (scores,) = judge.run(None, {value.name: image})
    best = list(np.argsort(-scores.ravel(), kind="stable")[:5])
    for program in ("/work/by_pkg_config", "/work/c/build/classify"):
        printed = root.run(program, "/work/opt.onnx", "/work/input.bin")
        assert [int(line.split()[0]) for line in printed.splitlines()] == best


def test_systemd_accepts_the_units_where_they_lie(root):
    root.install("systemd")
    listed = root.run("dpkg", "-L", "plait").splitlines()
    assert [os.path.basename(name) for name in sorted(listed) if name.endswith(".service")] == UNITS
    for unit in INSTANCES:
        assert root.run("systemd-analyze", "verify", "--man=no", unit) == ""
        root.run("systemctl", "enable", unit)
    assert set(INSTANCES) <= set(os.listdir(root.path / WANTED))


def test_the_server_takes_its_configuration(root):
    started = subprocess.Popen(
        ["chroot", root.path, "/usr/bin/plaitd", "--config", CONFIGURATION, "--listen",
         "unix:/work/socket", "--metrics-listen", "127.0.0.1:0"], stdout=subprocess.PIPE, text=True)
    try:
        assert json.loads(started.stdout.readline())["event"] == "listening"
        told = json.loads(root.run("plait", "devices", "--server", "unix:/work/socket", "--json"))
        assert told["devices"][0]["id"] == "cpu"
    finally:
        started.terminate()
    assert started.wait(60) == 0


def test_what_an_operator_has_set_survives_another_installation_and_a_removal(root):
    listed = root.run("dpkg-query", "-f", "${Conffiles}", "-W", "plait").split()
    assert listed[::2] == [CONFIGURATION]
    path = root.path / CONFIGURATION.lstrip("/")
    edited = path.read_text().replace('"info"', '"debug"')
    path.write_text(edited)
    root.apt("install", "--reinstall", root.files["plait"])
    assert path.read_text() == edited
    root.apt("remove", "plait")
    assert root.state("plait") == "rc" and path.read_text() == edited
    assert not (root.path / "usr/bin/plait").exists()
    assert not set(INSTANCES) & set(os.listdir(root.path / WANTED))


def test_a_purge_leaves_nothing(root):
    for name in KEPT:
        (root.path / name).parent.mkdir(parents=True)
        (root.path / name).touch()
    root.apt("purge", "plait", "libplait-runtime0", "libplait-runtime-dev")
    assert root.run("dpkg", "--audit") == ""
    assert {root.state(name) for name in root.files} == {None}
    skipped = {root.path / name for name in ("proc", "work", "dev", "sys")}
    left = []
    for folder, folders, names in os.walk(root.path):
        folders[:] = [name for name in folders if root.path / folder / name not in skipped]
        left += [os.path.join(folder, name) for name in folders + names if "plait" in name.lower()]
    assert left == []
