"""The Debian packages that CPack makes of the build."""

import re

import pytest
from installed import cached, run

pytestmark = pytest.mark.skipif(bool(cached("PLAIT_SANITIZE")), reason="nobody packs a sanitizer")


def fields(package):
    return dict(re.findall(r"^ ([\w-]+): (.*)$", run("dpkg-deb", "--info", package), re.MULTILINE))


def test_there_is_one_for_each_component(packages):
    assert set(packages) == {"plait", "libplait-runtime0", "libplait-runtime-dev"}


def test_they_depend_on_what_their_files_need(packages):
    tools, library, dev = (fields(packages[name])["Depends"] for name in
                           ("plait", "libplait-runtime0", "libplait-runtime-dev"))
    assert all(name in tools for name in ("libgrpc++1.51", "libdnnl2", "libsqlite3-0"))
    assert not re.search(r"grpc|libdnnl|sqlite|libgomp", library) and "libc6" in library
    version = fields(packages["libplait-runtime0"])["Version"]
    assert dev == f"libplait-runtime0 (= {version})"


def test_what_they_hold_runs(packages, tmp_path):
    for package in packages.values():
        run("dpkg-deb", "--extract", package, tmp_path)
    version = run(tmp_path / "usr/bin/plait", "version")
    assert version == f"plait {fields(packages['plait'])['Version']}\n"
    for name, files in {"plait": ["copyright"],
                        "libplait-runtime0": ["copyright", "copyright.onednn"]}.items():
        for file in files:
            assert "Apache" in (tmp_path / "usr/share/doc" / name / file).read_text()
    (library,) = tmp_path.rglob("libplait_runtime.so.0")
    code = ("import ctypes, sys; library = ctypes.CDLL(sys.argv[1]); "
            "library.plait_version.restype = ctypes.c_char_p; "
            "print(library.plait_version().decode())")
    assert f"plait {run('python3', '-c', code, library)}" == version
