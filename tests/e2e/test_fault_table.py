"""Each call of a simulated GPU's driver and libraries fails, and no job is wrong."""

import json
import subprocess
import sys

import pytest

import programs

TOOLS = programs.ROOT / "bench" / "simulated_gpu"
SIMULATED = programs.BUILD / "simulated_gpu"
SECONDS_MAX = 300

pytestmark = pytest.mark.skipif(not (SIMULATED / "libcudnn.so.9").exists(),
                                reason="this build has no stand-ins for cuDNN")


@pytest.fixture
def fault_model(folder):
    path = folder / "fault_model.onnx"
    subprocess.run([sys.executable, TOOLS / "fault_model.py", path], check=True)
    return path


def table_of(folder, model, *options, seconds_max=SECONDS_MAX):
    """The table's entries, and what was printed."""
    table = folder / "table.json"
    done = subprocess.run(
        [sys.executable, TOOLS / "faults.py", model, "--build", programs.BUILD, "--out",
         folder / "faults", "--json", table, *options],
        capture_output=True, text=True, timeout=seconds_max, check=False,
        env=programs.environment())
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(table.read_text()), done.stdout


def test_the_table_of_faults(folder, fault_model):
    (error, sticky, hang), printed = table_of(
        folder, fault_model, "--functions", "cuGraphLaunch", "--kinds", "error,sticky,hang",
        "--task-seconds", "4")
    assert error["reached"] and sticky["reached"] and hang["reached"]
    # Once is a kernel or a plan that could not be had; the other two end the worker.
    assert (error["workers_lost"], sticky["workers_lost"], hang["workers_lost"]) == (0, 1, 1)
    assert (sticky["worker_exit_code"], hang["worker_exit_code"]) == (10, 11)
    assert sticky["exit_code"] == 0 and sticky["is_equal"]
    # The worker ends within the task's time and ten seconds; the job is run once more, on another.
    assert hang["lost_seconds"] <= 4 + 10
    assert hang["exit_code"] == 0 and hang["is_equal"]
    assert "| `cuGraphLaunch` |" in printed


def test_its_model_calls_what_other_models_do_not(folder, fault_model):
    functions = ("cuGraphAddEmptyNode", "cuGraphAddMemcpyNode", "cublasLtMatrixLayoutSetAttribute",
                 "cublasLtMatmulAlgoCheck", "cuDevicePrimaryCtxRelease")
    entries, _ = table_of(folder, fault_model, "--functions", ",".join(functions), "--kinds",
                          "error")
    assert [entry["function"] for entry in entries if entry["reached"]] == list(functions)


@pytest.mark.long
def test_no_failing_call_makes_a_job_wrong(folder, fault_model):
    entries, printed = table_of(folder, fault_model, "--kinds", "error,memory",
                                seconds_max=6 * SECONDS_MAX)
    assert len(entries) > 100 and all(entry["reached"] for entry in entries)
    assert "`cuStreamWaitEvent` is called by bench/gpu only\n" in printed
    assert "none of these fails in a job\n" in printed


@pytest.mark.long
def test_no_failing_call_makes_a_network_wrong(folder, model_file):
    entries, _ = table_of(folder, model_file("tiny_resnet"), "--kinds", "error,memory",
                          seconds_max=6 * SECONDS_MAX)
    assert sum(entry["reached"] for entry in entries) > 0.7 * len(entries)


# A driver is begun, and left; memory; copies; captures and graphs; kernels of all three kinds.
@pytest.mark.long
@pytest.mark.parametrize("function", [
    "cuInit", "cuDevicePrimaryCtxRetain", "cuDevicePrimaryCtxRelease", "cuMemAlloc",
    "cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync", "cuMemcpyDtoDAsync", "cuStreamSynchronize",
    "cuStreamEndCapture", "cuGraphInstantiate", "cuLibraryLoadData", "cuLaunchKernel",
    "cudnnBackendExecute", "cublasLtMatmul"])
def test_calls_that_hang_or_break_the_gpu(folder, fault_model, function):
    entries, _ = table_of(folder, fault_model, "--functions", function, "--kinds", "sticky,hang")
    for entry in entries:
        # What the next worker gives is right: one bad life of a GPU ends no job.
        assert entry["reached"] and entry["exit_code"] == 0 and entry["is_equal"], entry
        assert entry["workers_lost"] >= 1, entry
