"""What a record says of when, where and of what its figures were taken."""

import datetime
import hashlib
import importlib.metadata
import json
import subprocess

import machine
import rounds


def head(plait, libraries, files):
    """The first fields of a record: `plait` is the program's path, libraries are those of this
    Python, and files the paths of those that were measured, each by what it is."""
    return {
        "schema_version": 1, "date": datetime.date.today().isoformat(),
        "machine": machine.describe(),
        "versions": {"plait program": program_version(plait)} | {
            name: library_version(name) for name in libraries},
        "digests": {what: digest(path) for what, path in files.items()},
        "rules": rounds.limits(),
    }


def digest(path):
    """SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def finite(error):
    """JSON has no infinity; a string keeps the file readable by every parser."""
    return str(error) if error == float("inf") else error


def library_version(name):
    """None where it is not installed beside this Python."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def installed_bytes(name):
    """What the files of a package take, compiled sources left out; None where it is not installed
    beside this Python."""
    try:
        files = importlib.metadata.files(name) if name else None
    except importlib.metadata.PackageNotFoundError:
        return None
    # Compiled sources come with use, and the package's list need not have them.
    paths = [file.locate() for file in files or () if file.suffix != ".pyc"]
    return sum(path.stat().st_size for path in paths if path.is_file()) or None


def program_version(plait):
    """What `plait version` says; None where it says nothing."""
    try:
        done = subprocess.run([str(plait), "version", "--json"], capture_output=True, text=True,
                              timeout=60, check=True)
        return json.loads(done.stdout)["version"]
    except (OSError, subprocess.SubprocessError, ValueError, KeyError):
        return None
