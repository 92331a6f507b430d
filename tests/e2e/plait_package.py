"""The Python package `plait` of this build, where no wheel is installed."""

import pathlib

import programs

ROOT = pathlib.Path(__file__).resolve().parents[2]


def link(folder):
    """Makes it below the folder, which is to be one of those that an interpreter searches."""
    package = folder / "plait"
    package.mkdir(parents=True)
    for source in (ROOT / "runtime" / "python" / "plait").glob("*.py"):
        (package / source.name).symlink_to(source)
    (package / "lib").symlink_to(programs.BUILD / "runtime")
    described = folder / "plait-0.2.0.dist-info"
    described.mkdir()
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: plait\nVersion: 0.2.0\n")
    return folder
