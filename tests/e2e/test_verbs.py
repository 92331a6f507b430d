"""The CLI's other verbs, against a daemon and alone."""

import json
import subprocess

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import learned
import models
import sample_inputs
import schemas
from waiting import wait_until


@pytest.fixture
def server(shared_daemon):
    return ["--server", shared_daemon.address]


@pytest.fixture(scope="module")
def optimized(tmp_path_factory):
    """A model and what was made of it. Tests read them only."""
    folder = tmp_path_factory.mktemp("optimized")
    original, output = folder / "tiny_resnet.onnx", folder / "out.onnx"
    original.write_bytes(models.light_model("tiny_resnet"))
    cli = learned.cli(folder / "cache")
    cli.run("optimize", original, "-o", output, "--budget", "5s").expect(0)
    return original, output


def json_lines(text):
    return [json.loads(line) for line in text.splitlines()]


def test_output_that_cannot_be_written_is_an_error(cli):
    with open("/dev/full", "w", encoding="utf-8") as full:
        running = cli.start("version", stdout=full, stderr=subprocess.PIPE)
        assert "standard output" in running.communicate(timeout=60)[1]
    assert running.returncode == 1


def optimize_on_server(cli, server, folder, model_file, width):
    """Optimizes a model by three verbs; returns the job's id and its explained report."""
    model = model_file(models.small_model(width=width))
    submitted = cli.run("submit", model, "--budget", "5s", *server, "--json").expect(0).json
    assert submitted["state"] in ("QUEUED", "RUNNING") and submitted["id"]
    events = json_lines(cli.run("watch", submitted["id"], *server, "--json").expect(0).out)
    numbered = [event for event in events if "sequence" in event]
    assert [event["sequence"] for event in numbered] == list(range(1, len(numbered) + 1))
    assert numbered[-1]["type"] == "SUCCEEDED"
    output = folder / "out.onnx"
    report = cli.run("result", submitted["id"], "-o", output, *server, "--json").expect(0).json
    assert report["id"] == submitted["id"]
    models.assert_equal_in_onnx_runtime(model.read_bytes(), output.read_bytes())
    explained = cli.run("result", submitted["id"], "-o", output, *server, "--json", "--explain")
    return submitted["id"], explained.expect(0).json


def test_the_stored_report_is_what_the_cli_prints(cli, server, client, folder, model_file):
    job_id, printed = optimize_on_server(cli, server, folder, model_file, 42)
    stored = json.loads(client.download(client.get(job_id).job.result.report_json))
    schemas.check("optimize", stored)
    assert stored["output"].pop("path") == "" and printed["output"].pop("path")
    assert stored == printed


def test_a_job_is_explained(cli, server, folder, model_file):
    job_id, printed = optimize_on_server(cli, server, folder, model_file, 43)
    told = cli.run("explain", job_id, *server, "--budget", "1s", "--json").expect(0).json
    assert told["path"] == told["job"]["id"] == job_id
    assert told["job"]["search"] == printed["search"] and "trace" in told["job"]["search"]
    assert len(told["steps"]) == printed["optimized"]["kernels"]
    assert told["plan"]["grade"] == "exact"
    out = cli.run("explain", job_id, *server, "--budget", "1s").expect(0).out
    assert out.startswith("model ") and "kernels, by family" in out
    rules = cli.run("explain", job_id, *server, "--rule", "all", "--json").expect(0).json
    assert "rules" in rules and rules["job"]["id"] == job_id and "steps" not in rules


def test_what_is_neither_a_file_nor_a_job_is_not_explained(cli, server, folder):
    nobody = cli.run("explain", "no-such-job", *server, "--json").expect(2)
    assert json.loads(nobody.out)["error"]["reason"] == "NOT_FOUND"
    alone = json.loads(cli.run("explain", "no-such-job", "--json").expect(2).out)["error"]
    assert "no such file" in alone["message"] and "--server" in alone["message"]
    missing = cli.run("explain", folder / "missing.onnx", *server, "--json").expect(2)
    assert "missing.onnx" in json.loads(missing.out)["error"]["message"]


def test_submit_watch_result(cli, server, folder, model_file):
    optimize_on_server(cli, server, folder, model_file, 40)


def optimize_over_restarts(new_daemon, cli, folder, model_file, clients, restarts):
    """Stops the daemon in good order and starts it again, while clients wait for their jobs."""
    daemon = new_daemon(listen=f"unix:{folder}/plaitd.sock").start()
    daemon.wait_for_worker()
    waiting = [cli.start("optimize", model_file(models.small_model(width=16 + i), f"model_{i}"),
                         "-o", folder / f"{i}.opt.onnx", "--search", "none", "--json",
                         "--server", daemon.address, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
               for i in range(clients)]
    for _ in range(restarts):
        with daemon.client() as client:
            wait_until(lambda: client.jobs(), "a job is there")
        assert daemon.stop() == 0
        daemon.start()
        daemon.wait_for_worker()
    for process in waiting:
        out, error = process.communicate(timeout=180)
        assert process.returncode == 0, error
        assert json.loads(out)["equivalence"]["verdict"] == "equivalent"


def test_waiting_clients_outlast_a_restart(new_daemon, cli, folder, model_file):
    optimize_over_restarts(new_daemon, cli, folder, model_file, clients=2, restarts=2)


@pytest.mark.long
def test_ten_waiting_clients_outlast_ten_restarts(new_daemon, cli, folder, model_file):
    optimize_over_restarts(new_daemon, cli, folder, model_file, clients=10, restarts=10)


def test_jobs_are_listed(cli, server, model_file):
    model = model_file(models.small_model(width=44))
    ids = [cli.run("submit", model, "--search", "none", *server, "--json").expect(0).json["id"]
           for _ in range(2)]
    listed = cli.run("jobs", *server, "--json").expect(0).json["jobs"]
    assert [job["id"] for job in listed[:2]] == ids[::-1]
    assert all(job["state"] and job["submitted_at"] for job in listed)
    filtered = cli.run("jobs", "--filter", f"id = {ids[0]}", *server, "--json").expect(0).json
    assert [job["id"] for job in filtered["jobs"]] == ids[:1]
    refused = cli.run("jobs", "--filter", "colour = red", *server, "--json").expect(2)
    assert "filter: a field must be" in refused.last_error_line


def test_cancel_tells_the_state(cli, server, model_file):
    model = model_file("tiny_nasnet")
    job_id = cli.run("submit", model, *server, "--json").expect(0).json["id"]
    cancelled = cli.run("cancel", job_id, *server, "--json").expect(0).json
    assert cancelled["id"] == job_id
    cli.run("watch", job_id, *server, "--json").expect(7)
    assert cli.run("cancel", job_id, *server, "--json").expect(0).json["state"] == "CANCELLED"


def test_an_unknown_job_is_a_usage_error(cli, server):
    for verb in (["watch", "0" * 32], ["cancel", "0" * 32], ["result", "0" * 32, "-o", "x.onnx"]):
        finished = cli.run(*verb, *server, "--json").expect(2)
        assert json_lines(finished.out)[-1]["error"]["reason"] == "NOT_FOUND"


def test_options_of_runs_without_a_server_are_refused_beside_one(cli, server, folder):
    for option, value in (("--cache-dir", folder), ("--instruction-set", "avx2")):
        finished = cli.run("profiles", "list", option, value, *server).expect(2)
        assert f"{option}: is for runs without --server" in finished.last_error_line


def test_devices(cli, server):
    devices = cli.run("devices", *server, "--json").expect(0).json["devices"]
    assert "cpu" in [device["id"] for device in devices]


def test_an_absent_server_is_unreachable(cli):
    finished = cli.run("devices", "--server", "127.0.0.1:1", "--json").expect(9)
    assert finished.last_error_line.startswith("plait: ")
    assert json_lines(finished.out)[-1]["error"]["reason"] == "UNREACHABLE"


def test_verify_accepts_the_same_model_and_refuses_another(cli, model_file):
    data = models.light_model("tiny_resnet")
    original = model_file(data, "a")
    same = cli.run("verify", original, original, "--json").expect(0).json
    # Each side measures which kernels to use, so that their sums may run in another order.
    assert same["verdict"] == "equivalent" and same["max_rel_error"] < 1e-5
    assert same["inputs_tried"] >= 1
    other = model_file(models.scaled_weight(data, 1.01), "b")
    different = cli.run("verify", original, other, "--json").expect(12).json
    assert different["verdict"] == "different" and different["max_rel_error"] > 1e-4


def test_verify_runs_the_graph_and_not_the_plan(cli, folder, optimized):
    original, output = optimized
    # The plan has a graph of its own, which stays as it is.
    model = onnx.load(output)
    next(node for node in model.graph.node if node.op_type == "Relu").op_type = "Neg"
    changed = folder / "changed.onnx"
    onnx.save(model, changed)
    # It is not run, since it says what it was made from.
    told = cli.run("verify", original, changed, "--plan").expect(12).err
    assert "the model was changed after the plan was made" in told
    entries = [entry for entry in model.metadata_props if entry.key != "plait.original"]
    del model.metadata_props[:]
    model.metadata_props.extend(entries)
    onnx.save(model, changed)
    assert cli.run("verify", original, changed, "--plan").expect(0).err == ""
    cli.run("verify", original, changed).expect(12)


def test_verify_tries_the_inputs_it_is_given(cli, folder, model_file):
    model = model_file("tiny_resnet")
    feeds = sample_inputs.session_inputs(models.session_of(model.read_bytes()), 3)
    inputs = folder / "in"
    inputs.mkdir()
    for name, values in feeds.items():
        np.save(inputs / f"{name}.npy", values)
    given = ("verify", model, model, "--inputs", inputs, "--json")
    assert cli.run(*given).expect(0).json["inputs_tried"] == 5
    assert cli.run(*given, "--random-inputs", "0").expect(0).json["inputs_tried"] == 1
    assert "--inputs DIR" in cli.run("verify", model, model, "--random-inputs", "0").expect(2).err


def test_verify_says_what_is_lost_of_exact_outputs(cli, optimized):
    original, output = optimized
    result = cli.run("verify", original, output, "--plan", "--against", "float64",
                     "--json").expect(0).json
    assert result["against"] == "float64" and result["inputs_tried"] == 1
    assert [model["path"] for model in result["models"]] == [str(original), str(output)]
    for model in result["models"]:
        for value in model["outputs"]:
            assert 0 < value["rms_error"] <= value["max_abs_error"]
            assert 1e-9 < value["max_rel_error"] < 1e-5
    assert 0 < result["rms_ratio"] <= 2
    same = ("verify", original, original, "--against")
    assert "rms ratio" in cli.run(*same, "float64").expect(0).out
    assert "only float64" in cli.run(*same, "fp16").expect(2).err


def test_bench_compares_two_models(cli, optimized):
    original, output = optimized
    finished = cli.run("bench", original, output, "--json").expect(0)
    assert "ignored" not in finished.err, "the plan inside the model is for this device and engine"
    result = finished.json
    assert [model["path"] for model in result["models"]] == [str(original), str(output)]
    for model in result["models"]:
        assert 0 < model["latency_us_p10"] <= model["latency_us_median"]
        assert model["latency_us_median"] <= model["latency_us_p95"] and model["samples"] > 0
    assert result["ratio"]["low"] <= result["ratio"]["median"] <= result["ratio"]["high"]


def test_a_plan_for_weaker_instructions_runs_where_they_are_asked_for(cli, folder, model_file):
    held = ("--instruction-set", "generic")
    optimized = folder / "out.onnx"
    report = cli.run("optimize", model_file("tiny_resnet"), "-o", optimized, "--budget", "5s",
                     "--json", *held).expect(0).json
    assert "_generic;" in report["device"]["fingerprint"]
    assert "ignored" not in cli.run("bench", optimized, "--rounds", "1", *held).expect(0).err
    if report["speedup"] > 1:
        assert "ignored" in cli.run("bench", optimized, "--rounds", "1").expect(0).err


def test_instructions_that_nobody_has_are_a_wrong_usage(cli, model_file):
    for verb in ("bench", "optimize"):
        finished = cli.run(verb, model_file("tiny_resnet"), "--instruction-set", "sse9").expect(2)
        assert "expected generic, avx2, avx512, avx512_bf16 or amx" in finished.err


@pytest.mark.parametrize("name", ["tiny_resnet", "tiny_bert"])
def test_run_computes_what_onnx_runtime_computes(cli, folder, model_file, name):
    model = model_file(name)
    session = models.session_of(model.read_bytes())
    feeds = sample_inputs.session_inputs(session, 3)
    (folder / "in").mkdir()
    for i, (tensor, values) in enumerate(feeds.items()):
        (folder / "in" / f"input_{i}.pb").write_bytes(
            numpy_helper.from_array(values, tensor).SerializeToString())
    cli.run("run", model, "--inputs", folder / "in", "--outputs", folder / "out").expect(0)
    for i, expected in enumerate(session.run(None, feeds)):
        tensor = onnx.TensorProto.FromString((folder / "out" / f"output_{i}.pb").read_bytes())
        found = numpy_helper.to_array(tensor)
        assert np.abs(found - expected).max() <= models.REL_ERROR_MAX * np.abs(expected).max()
        name = session.get_outputs()[i].name
        assert np.array_equal(np.load(folder / "out" / f"{name}.npy"), found)


def test_version_and_help(cli):
    assert cli.run("version").expect(0).out.strip()
    for verb in ("optimize", "submit", "watch", "jobs", "result", "cancel", "run", "bench",
                 "verify", "devices", "version"):
        assert f"plait {verb}" in cli.run(verb, "--help").expect(0).out
