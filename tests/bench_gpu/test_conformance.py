"""The conformance cases that a GPU runs: packed, run, and put among the device's facts."""

import json
import pathlib
import shutil
import subprocess
import sys

import claims
import conformance
import judgements_of_device as of_device
import pack

RIGHT = {"testsuites": [{"testsuite": [
    {"name": conformance.STICKY_ERROR, "result": "COMPLETED"},
    {"name": "AgreesWithTheReference/rows_strict", "result": "COMPLETED", "kernels": "12"},
    {"name": "AgreesWithTheReference/rows_fp16", "result": "COMPLETED", "kernels": "10"},
    {"name": "HaveTheNodesEdgesAndOutputsOfTheSimulatedDevice/chain", "result": "COMPLETED",
     "classname": "Shapes/GpuGraphsTest", "edges": "4"}]}]}
WRONG = {"testsuites": [{"testsuite": [
    {"name": "AgreesWithTheReference/rows_strict", "result": "COMPLETED", "kernels": "12",
     "failures": [{"failure": "rows/odd_3: 0.5\nmore"}]}]}]}
NO_DEVICE = {"testsuites": [{"testsuite": [{"name": "rows_strict", "result": "SKIPPED"}]}]}


def program_that_says(folder, results):
    """Writes what it is told to where googletest would."""
    said = folder / "said.json"
    said.write_text(json.dumps(results))
    program = folder / "gpu_conformance_test"
    program.write_text(f'#!/bin/sh\ncp {said} "${{1#--gtest_output=json:}}"\n')
    program.chmod(0o755)
    return program


def run(folder, results):
    facts = folder / "device.json"
    facts.write_text(json.dumps({"name": "a GPU"}))
    done = subprocess.run([sys.executable, conformance.__file__, "--program",
                           program_that_says(folder, results), "--device-file", facts],
                          capture_output=True, text=True)
    return done.returncode, json.loads(facts.read_text()).get("conformance")


def standing(folder):
    rows = claims.table(claims.Recorded(folder))
    return next(row[1:3] for row in rows if "conformance" in row[0])


def test_what_is_right_confirms_the_claim(tmp_path):
    code, summary = run(tmp_path, RIGHT)
    assert code == 0
    assert summary == {"tests": 4, "skipped": 0, "kernels": 22, "sticky_error": True,
                       "failures": [], "kernel_failures": 0, "graphs": 1, "graph_edges": 4,
                       "graph_failures": 0}
    assert of_device.graphs(claims.Recorded(tmp_path)) == (
        claims.CONFIRMED, "1 graphs of 4 edges, 0 failures")
    assert standing(tmp_path) == [claims.CONFIRMED, "22 kernels, 0 failures"]
    assert of_device.sticky_error(claims.Recorded(tmp_path))[0] == claims.CONFIRMED


def test_what_is_wrong_refutes_it(tmp_path):
    code, summary = run(tmp_path, WRONG)
    assert code == 1
    assert summary["failures"] == ["AgreesWithTheReference/rows_strict: rows/odd_3: 0.5 more"]
    assert standing(tmp_path)[0] == claims.REFUTED
    assert of_device.sticky_error(claims.Recorded(tmp_path))[0] == claims.NOT_RUN


def test_a_graph_that_differs_is_no_wrong_kernel(tmp_path):
    wrong = json.loads(json.dumps(RIGHT))
    wrong["testsuites"][0]["testsuite"][-1]["failures"] = [{"failure": "nodes differ"}]
    assert run(tmp_path, wrong)[0] == 1
    assert standing(tmp_path)[0] == claims.CONFIRMED
    assert of_device.graphs(claims.Recorded(tmp_path))[0] == claims.REFUTED


def test_a_sticky_error_that_is_not_told_is_no_wrong_kernel(tmp_path):
    lost = {"name": conformance.STICKY_ERROR, "result": "COMPLETED",
            "failures": [{"failure": "exit code 2"}]}
    run(tmp_path, {"testsuites": [{"testsuite": [lost]}]})
    assert standing(tmp_path)[0] == claims.NOT_RUN
    assert of_device.sticky_error(claims.Recorded(tmp_path))[0] == claims.REFUTED


def test_without_a_device_nothing_is_said(tmp_path):
    assert run(tmp_path, NO_DEVICE) == (3, None)
    assert standing(tmp_path)[0] == claims.NOT_RUN


def test_a_program_that_dies_says_nothing(tmp_path):
    program = tmp_path / "gpu_conformance_test"
    program.write_text("#!/bin/sh\nkill -9 $$\n")
    program.chmod(0o755)
    assert conformance.conformance(program) is None


def test_a_packed_program_has_its_libraries_beside_it(tmp_path):
    pack.pack_program(pathlib.Path(shutil.which("cmake")).resolve(), tmp_path)
    assert (tmp_path / "cmake").is_file()
    names = {path.name for path in (tmp_path / "lib").iterdir()}
    assert names and not any(name.startswith(("libc.so", "libstdc++")) for name in names)
    # It runs with these alone, stripped as it is.
    done = subprocess.run([tmp_path / "cmake", "--version"], capture_output=True, text=True,
                          env={"LD_LIBRARY_PATH": str(tmp_path / "lib")}, check=False)
    assert "cmake version" in done.stdout + done.stderr
