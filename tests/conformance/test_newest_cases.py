"""ONNX's own cases of the newest opset, which Debian's test data does not have."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest

from published import write_cases

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent
BUILD = pathlib.Path(os.environ.get("PLAIT_BUILD", ROOT / "build"))


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cases")
    assert write_cases.write_cases(folder) > 1700
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
