"""ONNX's own cases of the newest opset, which Debian's test data does not have."""

import fcntl
import functools
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
PLANNED = ("reference_published_test", "cpu_published_test")
IN_PARTS = "parts_published_test"
NOT_RUN = HERE / "published" / "newest_not_run.txt"


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


@pytest.fixture(scope="module")
def run(cases, tmp_path_factory):
    """Runs a program, once; returns what it printed, and a list for each way of running models:
    what became of each case."""

    @functools.cache
    def run_program(program):
        results = tmp_path_factory.mktemp(program)
        finished = subprocess.run(
            [BUILD / "tests" / program, "--gtest_filter=*ComputesWhatOnnxPublishes*"],
            env=os.environ | {"PLAIT_PUBLISHED_CASES": str(cases),
                              "PLAIT_PUBLISHED_RESULTS": str(results)},
            capture_output=True, text=True, check=False)
        assert finished.returncode == 0, finished.stdout[-20_000:]
        print(finished.stdout)
        return finished.stdout, [path.read_text().splitlines() for path in results.iterdir()]

    return run_program


@pytest.mark.parametrize("program", PLANNED)
def test_the_newest_cases_pass_but_for_those_listed(run, program):
    out, _ = run(program)
    passed = [int(count) for count in re.findall(r"published cases: passed (\d+)", out)]
    assert passed and min(passed) >= 1100, out


def test_the_newest_cases_run_whose_sizes_a_run_tells(run):
    run(IN_PARTS)


def names(lines, result):
    return {line.split(" ", 2)[1] for line in lines if line.startswith(f"{result} ")}


def test_cases_that_nothing_runs_are_those_listed(cases, run):
    ways = [lines for program in PLANNED for lines in run(program)[1]]
    (in_parts,) = run(IN_PARTS)[1]
    assert len(ways) == 3
    left = set.union(*(names(lines, "skipped") for lines in ways)) - names(in_parts, "passed")
    # The first way that skips a case says why.
    reasons = dict(line.split(" ", 2)[1:] for lines in reversed(ways) for line in lines
                   if line.startswith("skipped "))
    found = [f"{name} {reasons[name]}" for name in left]
    found += [f"node/{name} a value is no tensor"
              for name in (cases / "no_tensors.txt").read_text().split()]
    found.sort()
    (BUILD / NOT_RUN.name).write_text("\n".join(found) + "\n")
    head, *listed = NOT_RUN.read_text().splitlines()
    if f"onnx {onnx.__version__} " not in head:
        pytest.skip(f"{NOT_RUN.name} is not of onnx {onnx.__version__}; "
                    f"{BUILD / NOT_RUN.name} is")
    more, fewer = sorted(set(found) - set(listed)), sorted(set(listed) - set(found))
    assert not more and not fewer, "\n".join(
        [f"{BUILD / NOT_RUN.name} is the list of today.", *(f"+ {line}" for line in more),
         *(f"- {line}" for line in fewer)])
    assert listed == sorted(listed)
