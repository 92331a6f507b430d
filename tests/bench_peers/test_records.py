"""What records say of the packages that were measured."""

import sys

from test_peers import ROOT

import records  # found through test_peers


def test_the_size_of_a_package_is_that_of_its_files(tmp_path, monkeypatch):
    for path, size in (("small/__init__.py", 100), ("small/library.so", 3000),
                       ("small.libs/other.so", 5000), ("small/__pycache__/a.pyc", 700),
                       ("small-1.0.dist-info/METADATA", 0), ("not_listed.so", 900)):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(b"x" * size)
    (tmp_path / "small-1.0.dist-info" / "METADATA").write_text("Name: small\nVersion: 1.0\n")
    listed = ("small/__init__.py", "small/library.so", "small.libs/other.so",
              "small/__pycache__/a.pyc", "small/gone.so")
    (tmp_path / "small-1.0.dist-info" / "RECORD").write_text(
        "".join(f"{path},,\n" for path in listed))
    monkeypatch.syspath_prepend(tmp_path)
    assert records.installed_bytes("small") == 8100
    assert records.library_version("small") == "1.0"
    assert records.installed_bytes("not-installed") is None
    assert records.installed_bytes(None) is None


def test_a_program_that_does_not_tell_its_version_has_none(tmp_path):
    assert records.program_version(tmp_path / "plait") is None
    assert records.program_version(sys.executable) is None
    assert records.program_version(ROOT / "build" / "plait")
