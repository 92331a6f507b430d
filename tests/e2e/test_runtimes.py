"""Results measured in runtimes that users deploy: who is there, what a report says of them, that a
returned file is never slower in them, and that nothing that they do harms a job."""

import importlib.util
import sys
import threading
import time

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import models
import processes
import sample_inputs
from rpc import state_of
from waiting import wait_until

RUNTIMES = [name for name in ("onnxruntime", "openvino")
            if importlib.util.find_spec(name) is not None]
# The interpreter of the tests: it has grpcio and, at least, ONNX Runtime.
FLAGS = ("--runtimes-python", sys.executable)


@pytest.fixture
def runtimes_daemon(new_daemon):
    daemon = new_daemon(*FLAGS).start()
    daemon.wait_for_worker()
    yield daemon


def of_runtimes(daemon):
    """The processes of runtimes' workers, and those of their sessions."""
    return [pid for pid in processes.descendants(daemon.pid)
            if any("plait_runtime_worker" in word for word in processes.command_line(pid))]


def run_job(client, model, **options):
    job_id = client.submit(client.upload(model), **options).id
    return client.wait_for_end(job_id)


def lines_of(job):
    return {line.runtime: line for line in job.result.report.runtimes}


def test_devices_lists_runtimes_and_what_is_missing(runtimes_daemon, cli, new_daemon):
    listed = cli.run("devices", "--server", runtimes_daemon.address, "--json").expect(0).json
    found = {device["id"]: device for device in listed["devices"]}
    assert found["cpu"]["runtime_version"] is None
    for name in RUNTIMES:
        assert found[name]["runtime_version"]
    missing = {entry["name"] for entry in listed["missing_runtimes"]}
    assert missing == {"onnxruntime", "openvino", "plaitsession"} - set(RUNTIMES)

    bare = new_daemon("--runtimes-python", "/bin/false", name="bare").start()
    bare.wait_for_worker()
    listed = cli.run("devices", "--server", bare.address, "--json").expect(0).json
    assert [device["id"] for device in listed["devices"] if not device["predicted"]] == ["cpu"]
    assert "/bin/false" in listed["missing_runtimes"][0]["reason"]
    assert "is missing" in cli.run("devices", "--server", bare.address).expect(0).out


def test_a_job_reports_every_runtime_and_recommends_one(runtimes_daemon):
    with runtimes_daemon.client() as client:
        job = run_job(client, models.light_model("tiny_inception"), budget_seconds=30.0)
        assert state_of(job) == "SUCCEEDED", job.error.message
        lines = lines_of(job)
        assert list(lines) == ["plait", *RUNTIMES]
        for name in RUNTIMES:
            line = lines[name]
            assert not line.note and line.version and line.options and line.threads > 0
            assert 0 < line.original_us_p10 <= line.original_us_median <= line.original_us_p95
            assert line.latency_us_median > 0
            assert line.ratio_low <= line.ratio <= line.ratio_high
            # Never slower: the original's bytes, or what is certainly faster.
            assert line.ratio >= 1
        fastest = min(lines.values(), key=lambda line: line.latency_us_p10)
        recommended = job.result.report.recommended
        assert recommended.runtime == fastest.runtime and recommended.options == fastest.options
        assert recommended.latency_us == fastest.latency_us_median
        again = run_job(client, models.light_model("tiny_inception"), budget_seconds=30.0)
        assert again.result.report.cached


def test_a_result_of_other_runtimes_does_not_answer(runtimes_daemon):
    """What is measured in a runtime, or in one version of it, may be returned for that alone."""
    model, options = models.light_model("tiny_mobilenet"), {"budget_seconds": 10.0}
    with runtimes_daemon.client() as client:
        assert list(lines_of(run_job(client, model, **options))) == ["plait", *RUNTIMES]
        assert run_job(client, model, **options).result.report.cached
    assert runtimes_daemon.stop() == 0
    runtimes_daemon.arguments = ("--runtimes-python", "none")
    runtimes_daemon.start()
    runtimes_daemon.wait_for_worker()
    with runtimes_daemon.client() as client:
        alone = run_job(client, model, **options)
    assert not alone.result.report.cached and list(lines_of(alone)) == ["plait"]


def test_the_cli_shows_them_and_a_replay_needs_none(runtimes_daemon, cli, folder, model_file):
    path = model_file("tiny_inception")
    output = folder / "out.onnx"
    words = ("optimize", path, "-o", output, "--server", runtimes_daemon.address, "--budget", "30s",
             "--runtime", "plait", "--runtime", "onnxruntime")
    report = cli.run(*words, "--json").expect(0).json
    assert [line["runtime"] for line in report["runtimes"]] == ["plait", "onnxruntime"]
    table = cli.run(*words).expect(0).out  # from the result cache
    assert "onnxruntime" in table and "recommended" in table
    assert runtimes_daemon.stop() == 0
    runtimes_daemon.arguments = ("--runtimes-python", "none")
    runtimes_daemon.start()
    runtimes_daemon.wait_for_worker()
    again = folder / "again.onnx"
    cli.run("replay", report["id"], "-o", again, "--server", runtimes_daemon.address).expect(0)
    assert again.read_bytes() == output.read_bytes()


def test_a_rewritten_body_is_measured_where_the_user_deploys(runtimes_daemon):
    with runtimes_daemon.client() as client:
        job = run_job(client, models.light_model("tiny_bert"), budget_seconds=30.0,
                      body="searched", runtimes=["onnxruntime"])
        assert state_of(job) == "SUCCEEDED", job.error.message
        lines = lines_of(job)
        assert list(lines) == ["onnxruntime"]
        assert lines["onnxruntime"].original_us_median > 0
        assert job.result.report.recommended.runtime == "onnxruntime"
        if job.result.report.optimized.origin != "baseline":
            assert lines["onnxruntime"].ratio != 1


def test_runtimes_that_are_not_there_are_refused(runtimes_daemon, cli, model_file):
    path = model_file(models.small_model())
    for words in ((), ("--validate-only",)):
        refused = cli.run("optimize", path, "--server", runtimes_daemon.address, "--runtime",
                          "tensorrt", *words).expect(9)
        assert "tensorrt" in refused.last_error_line and "onnxruntime" in refused.last_error_line
    cli.run("optimize", path, "--server", runtimes_daemon.address, "--runtime", "A B").expect(2)
    # It is measured in, and runs no search.
    cli.run("optimize", path, "--server", runtimes_daemon.address, "--device",
            "onnxruntime").expect(2)


def test_plait_alone_starts_no_worker_of_a_runtime(runtimes_daemon):
    with runtimes_daemon.client() as client:
        job = run_job(client, models.small_model(), budget_seconds=10.0, runtimes=["plait"])
        assert list(lines_of(job)) == ["plait"]
    assert not of_runtimes(runtimes_daemon)


def test_a_budget_without_time_for_runtimes_says_so(runtimes_daemon):
    with runtimes_daemon.client() as client:
        job = run_job(client, models.small_model(), budget_seconds=2.0)
        assert state_of(job) == "SUCCEEDED"
        assert any("--runtime plait" in warning for warning in job.result.report.warnings)
        for name in RUNTIMES:
            assert lines_of(job)[name].original_us_median == 0 and lines_of(job)[name].note


def test_a_model_with_symbolic_dimensions_runs_bound(runtimes_daemon, cli, folder, model_file):
    model = onnx.load_from_string(models.small_model())
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "batch"
    path = model_file(model.SerializeToString())
    report = cli.run("optimize", path, "-o", folder / "out.onnx", "--server",
                     runtimes_daemon.address, "--budget", "20s", "--shape", "input=4x16",
                     "--json").expect(0).json
    assert all(line["original_us_median"] for line in report["runtimes"])


def test_kill_9_of_everything_of_a_runtime_costs_no_job(new_daemon):
    """Each process of the runtimes' workers dies as soon as it is seen: the job ends all the same,
    with a line that says why there are no times."""
    # What nobody answers is waited for as long as a task may take.
    daemon = new_daemon(*FLAGS, "--task-seconds-max", "8").start()
    daemon.wait_for_worker()
    stop = threading.Event()

    def kill():
        while not stop.is_set():
            for pid in of_runtimes(daemon):
                processes.kill(pid)
            time.sleep(0.2)

    thread = threading.Thread(target=kill)
    with daemon.client() as client:
        # Accepted, so the daemon knows the runtime: the process that told it is gone.
        job_id = client.submit(client.upload(models.small_model()), budget_seconds=12.0,
                               runtimes=["onnxruntime"]).id
    thread.start()
    try:
        with daemon.client() as client:
            job = client.wait_for_end(job_id, 240)
            assert state_of(job) == "SUCCEEDED", job.error.message
            assert lines_of(job)["onnxruntime"].note == "its worker gave no answer"
    finally:
        stop.set()
        thread.join()
    with daemon.client() as client:
        job = run_job(client, models.small_model(width=24), budget_seconds=12.0,
                      runtimes=["onnxruntime"])
        assert not lines_of(job)["onnxruntime"].note


def test_nothing_of_a_runtime_outlives_the_daemon(runtimes_daemon):
    with runtimes_daemon.client() as client:
        client.submit(client.upload(models.small_model()), budget_seconds=20.0,
                      runtimes=["onnxruntime"])
        wait_until(lambda: len(of_runtimes(runtimes_daemon)) > 1, "a session runs", 60)
    runtimes_daemon.kill()  # asserts that its family is gone


def repeated_relu(times=40, shape=(1, 1 << 18), last=(), initializers=()):
    """Of the nodes one is enough, which no runtime finds out by itself. `last` makes "output" of
    "relu", which else is the output."""
    values = ["input", *(f"value_{i}" for i in range(times - 1)), "relu" if last else "output"]
    nodes = [helper.make_node("Relu", [before], [after])
             for before, after in zip(values, values[1:])]
    graph = helper.make_graph(
        [*nodes, *last], "repeated",
        [helper.make_tensor_value_info("input", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("output", TensorProto.FLOAT, shape)], initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    return model.SerializeToString(deterministic=True)


@pytest.mark.parametrize("named", [["onnxruntime"], ["onnxruntime", "plait"]])
def test_a_rewritten_body_is_returned_where_it_is_faster(runtimes_daemon, cli, folder, named):
    with runtimes_daemon.client() as client:
        original = repeated_relu()
        job = run_job(client, original, budget_seconds=30.0, runtimes=named)
        assert state_of(job) == "SUCCEEDED", job.error.message
        report = job.result.report
        assert report.optimized.body == "portable", report
        assert lines_of(job)["onnxruntime"].ratio_low > 1
        optimized = client.download(job.result.optimized_model)
        assert len(onnx.load_from_string(optimized).graph.node) == 1
        models.assert_equal_in_onnx_runtime(original, optimized)
    again = folder / "again.onnx"
    assert runtimes_daemon.stop() == 0
    runtimes_daemon.arguments = ("--runtimes-python", "none")
    runtimes_daemon.start()
    runtimes_daemon.wait_for_worker()
    cli.run("replay", job.id, "-o", again, "--server", runtimes_daemon.address).expect(0)
    assert again.read_bytes() == optimized


def relu_and_normalization(channels=512):
    """Plait runs the normalization as two elementwise operators within one kernel, which take
    ONNX Runtime a pass over memory more than the normalization does."""
    random = np.random.default_rng(1)
    names = ("scale", "bias", "mean", "variance")
    parameters = [numpy_helper.from_array(random.uniform(0.5, 1.5, channels).astype(np.float32),
                                          name) for name in names]
    normalization = helper.make_node("BatchNormalization", ["relu", *names], ["output"])
    return repeated_relu(shape=(1, channels, 24, 24), last=[normalization],
                         initializers=parameters)


def test_the_plan_of_another_graph_goes_with_the_body_that_a_runtime_likes(
        runtimes_daemon, cli, folder, model_file):
    original = relu_and_normalization()
    path, output = model_file(original), folder / "out.onnx"
    report = cli.run("optimize", path, "-o", output, "--server", runtimes_daemon.address,
                     "--budget", "40s", "--runtime", "plait", "--runtime", "onnxruntime",
                     "--json").expect(0).json
    assert report["optimized"]["body"] == "portable", report
    lines = {line["runtime"]: line for line in report["runtimes"]}
    assert all(line["ratio_low"] > 1 for line in lines.values()), lines
    body = onnx.load(output)
    assert [node.op_type for node in body.graph.node] == ["Relu", "BatchNormalization"]
    models.assert_equal_in_onnx_runtime(original, output.read_bytes())
    # The plan is run, with the kernels that it was measured with.
    (plan,) = cli.run("plans", output, "--json").expect(0).json["plans"]
    assert plan["fits"], plan
    bench = cli.run("bench", output, "--json").expect(0).json["models"][0]
    assert bench["embedded_plan"] and bench["kernels"] == report["optimized"]["kernels"], bench
    session = models.session_of(original)
    feeds = sample_inputs.session_inputs(session, 3, 1)
    (folder / "in").mkdir()
    np.save(folder / "in" / "input.npy", feeds["input"])
    ran = cli.run("run", output, "--inputs", folder / "in", "--outputs", folder / "result")
    assert ran.expect(0).err == ""
    (expected,) = session.run(None, feeds)
    got = np.load(folder / "result" / "output.npy")
    assert np.abs(got - expected).max() <= models.REL_ERROR_MAX * np.abs(expected).max()
    again = folder / "again.onnx"
    cli.run("replay", report["id"], "-o", again, "--server", runtimes_daemon.address).expect(0)
    assert again.read_bytes() == output.read_bytes()
