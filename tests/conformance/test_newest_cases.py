"""ONNX's own cases of the newest opset, which Debian's test data does not have."""

import fcntl
import hashlib
import os
import pathlib
import re
import shutil
import subprocess

import onnx
import pytest

from published import write_cases

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent
BUILD = pathlib.Path(os.environ.get("PLAIT_BUILD", ROOT / "build"))


def write_once(folder):
    """Writes the cases unless the folder has them, from the same package by the same code."""
    stamp = folder.with_name(f"{folder.name}.complete")
    digest = hashlib.sha256(pathlib.Path(write_cases.__file__).read_bytes()).hexdigest()
    if stamp.exists() and stamp.read_text() == digest:
        return
    stamp.unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)
    assert write_cases.write_cases(folder) > 1700
    stamp.write_text(digest)


@pytest.fixture(scope="module")
def cases():
    folder = BUILD / f"published-cases-{onnx.__version__}"
    with (BUILD / "published-cases.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        write_once(folder)
    shutil.copy(HERE / "published" / "newest_known_failures.txt", folder / "known_failures.txt")
    return folder


@pytest.mark.parametrize("program", ["reference_published_test", "cpu_published_test"])
def test_the_newest_cases_pass_but_for_those_listed(cases, program):
    finished = subprocess.run(
        [BUILD / "tests" / program, "--gtest_filter=*ComputesWhatOnnxPublishes*"],
        env=os.environ | {"PLAIT_PUBLISHED_CASES": str(cases)}, capture_output=True, text=True,
        check=False)
    assert finished.returncode == 0, finished.stdout[-20_000:]
    passed = [int(count) for count in re.findall(r"published cases: passed (\d+)", finished.stdout)]
    print(finished.stdout)
    assert passed and min(passed) >= 1100, finished.stdout


def test_the_newest_cases_run_whose_sizes_a_run_tells(cases):
    finished = subprocess.run(
        [BUILD / "tests" / "parts_published_test"],
        env=os.environ | {"PLAIT_PUBLISHED_CASES": str(cases)}, capture_output=True, text=True,
        check=False)
    assert finished.returncode == 0, finished.stdout[-20_000:]
    print(finished.stdout)
