"""`plait optimize` without a server: the whole line, from a file to a faster file."""

import datetime
import json
import os
import signal
import subprocess
import time

import onnx
import pytest

import models
import processes
import programs
import schemas
from waiting import wait_until

LATENCY = {"latency_us_median", "latency_us_p10", "latency_us_p95", "samples"}
FIELDS = {
    "": {"id", "cached", "model", "device", "baseline", "optimized", "speedup", "speedup_low",
         "speedup_high", "equivalence", "search", "output"},
    "model": {"digest", "nodes", "opaque_nodes"},
    "device": {"id", "name", "fingerprint", "predicted"},
    "baseline": LATENCY | {"load_ms"},
    "optimized": LATENCY | {"kernels", "fallback_nodes", "offchip_bytes", "precision", "load_ms",
                            "formats", "copies", "body"},
    "equivalence": {"verdict", "max_abs_error", "max_rel_error", "inputs_tried",
                    "shapes_checked", "outputs"},
    "search": {"seconds", "profiling_seconds", "verification_seconds", "candidates",
               "candidates_measured", "profiles_measured", "profiles_cached",
               "profiles_unsteady", "rules_applied", "plan_times", "peak_memory_bytes",
               "worker_peak_memory_bytes"},
    "output": {"path", "digest"},
}


def optimize(cli, model, output, *options, budget="5s"):
    return cli.run("optimize", model, "-o", output, "--budget", budget, "--json", *options)


def assert_report_is_whole(report):
    for part, names in FIELDS.items():
        found = report[part] if part else report
        assert names <= set(found), f"{part or 'report'}: {names - set(found)} missing"
    for part in ("baseline", "optimized"):
        assert 0 < report[part]["latency_us_p10"] <= report[part]["latency_us_median"]
        assert report[part]["latency_us_median"] <= report[part]["latency_us_p95"]
        assert report[part]["samples"] >= 1
        assert report[part]["load_ms"] > 0
    assert sum(report["optimized"]["formats"].values()) == pytest.approx(1)
    assert 0 <= report["optimized"]["copies"] < report["optimized"]["kernels"]
    for error in ("max_abs_error", "max_rel_error"):
        worst = max(output[error] for output in report["equivalence"]["outputs"])
        assert worst == report["equivalence"][error]
    search = report["search"]
    assert min(search["peak_memory_bytes"], search["worker_peak_memory_bytes"]) > 2 ** 20
    assert len(search["plan_times"]) <= search["candidates_measured"]
    assert sum(times["won"] for times in search["plan_times"]) == (report["speedup"] > 1)
    assert all(min(times["predicted_us"], times["latency_us_median"]) > 0
               for times in search["plan_times"])
    assert report["speedup"] >= 1.0
    assert report["speedup_low"] <= report["speedup"] <= report["speedup_high"]
    assert report["equivalence"]["verdict"] == "equivalent"
    assert report["equivalence"]["inputs_tried"] >= 1
    assert report["optimized"]["precision"] == "strict"
    assert report["device"]["id"] == "cpu" and report["device"]["predicted"] is False


@pytest.mark.parametrize("name", ["tiny_resnet", "tiny_bert"])
def test_light_model_stays_equal_in_onnx_runtime(cli, folder, model_file, name):
    model = model_file(name)
    output = folder / "out.onnx"
    report = optimize(cli, model, output, "--body", "searched").expect(0).json
    assert_report_is_whole(report)
    assert report["output"]["path"] == str(output)
    # Import folds arithmetic on shapes.
    assert 0 < report["model"]["nodes"] <= len(onnx.load(model).graph.node)
    assert report["model"]["opaque_nodes"] == []
    assert ([output["name"] for output in report["equivalence"]["outputs"]]
            == [value.name for value in onnx.load(model).graph.output])
    onnx.checker.check_model(onnx.load(output), full_check=True)
    models.assert_equal_in_onnx_runtime(model.read_bytes(), output.read_bytes())
    metadata = {entry.key for entry in onnx.load(output).metadata_props}
    assert "plait.plan" in metadata


@pytest.mark.long
@pytest.mark.parametrize("name", ["tiny_inception", "tiny_mobilenet", "tiny_nasnet",
                                  "tiny_densenet", "tiny_gpt", "tiny_sru", "demo"])
def test_other_light_model_stays_equal_in_onnx_runtime(cli, folder, model_file, name):
    model = model_file(name)
    report = optimize(cli, model, folder / "out.onnx", "--body", "searched").expect(0).json
    assert_report_is_whole(report)
    models.assert_equal_in_onnx_runtime(model.read_bytes(), (folder / "out.onnx").read_bytes())


# Rounding alone is beyond this limit.
def test_a_report_says_why_the_original_was_kept(cli, folder, model_file):
    words = ("--precision", "strict", "--max-rel-error", "1e-12")
    model = model_file("tiny_resnet")
    report = optimize(cli, model, folder / "out.onnx", *words, budget="20s").expect(0).json
    assert report["optimized"]["origin"] == "baseline" and report["speedup"] == 1
    plans = [refusal for refusal in report["refused"] if refusal["kernel"] is None]
    assert plans, "candidates ran"
    best = plans[0]
    assert best["reason"] == "different" and best["limit"] == 1e-12
    assert 1e-12 < best["error"] < 1e-4
    assert best["place"] in [value.name for value in onnx.load(model).graph.output]
    assert best["speedup_predicted"] == pytest.approx(
        report["baseline"]["predicted_us"] / best["predicted_us"])
    # Now from the cache.
    table = cli.run("optimize", model, "-o", folder / "again.onnx", "--budget", "20s",
                    *words).expect(0).out
    kept = f"the best candidate (predicted {best['speedup_predicted']:.2f}x) differs by"
    assert f"kept         the original: {kept}" in table
    assert "--max-rel-error 1e-" in table and "would accept it" in table


def test_symbolic_dimensions_are_bound_by_shape(cli, folder, model_file):
    model = model_file("tiny_dynamic")
    (value,) = onnx.load(model).graph.input
    dims = [dim.dim_value or 2 for dim in value.type.tensor_type.shape.dim]
    shape = f"{value.name}={'x'.join(map(str, dims))}"
    optimize(cli, model, folder / "out.onnx", "--shape", shape, "--body", "portable").expect(0)
    models.assert_equal_in_onnx_runtime(
        model.read_bytes(), (folder / "out.onnx").read_bytes(), dynamic_size=2)


def test_profiles_are_measured_once(cli, folder, model_file):
    # All of them within the budget, on the slowest machine.
    options = ("--search", "none", "--no-result-cache")
    model = model_file("tiny_resnet")
    first = optimize(cli, model, folder / "a.onnx", *options, budget="60s").expect(0).json
    assert first["search"]["profiles_measured"] > 0
    second = optimize(cli, model, folder / "b.onnx", *options, budget="60s").expect(0).json
    # But for those beside which the machine's speed moved, by other programs.
    assert second["search"]["profiles_measured"] <= first["search"]["profiles_unsteady"]
    assert second["search"]["profiles_cached"] > 0
    assert second["cached"] is False


def test_an_equal_request_comes_from_the_cache(cli, folder, model_file):
    model = model_file(models.small_model())
    first = optimize(cli, model, folder / "a.onnx").expect(0).json
    second = optimize(cli, model, folder / "b.onnx").expect(0).json
    assert (first["cached"], second["cached"]) == (False, True)
    assert (folder / "a.onnx").read_bytes() == (folder / "b.onnx").read_bytes()


def test_without_search_the_result_is_the_same_bytes_every_time(cli, folder, model_file):
    model = model_file("tiny_inception")
    graphs = []
    for name in ("a", "b"):
        optimize(cli, model, folder / f"{name}.onnx", "--search", "none", "--schedule",
                 "sequential", "--body", "portable", "--no-result-cache").expect(0)
        graphs.append(onnx.load(folder / f"{name}.onnx").graph.SerializeToString(
            deterministic=True))
    assert graphs[0] == graphs[1]


def test_bf16_keeps_its_bound_and_says_where_there_is_none(cli, folder, model_file):
    report = optimize(cli, model_file("tiny_resnet"), folder / "out.onnx", "--precision",
                      "bf16").expect(0).json
    assert report["equivalence"]["max_rel_error"] <= 0.05
    assert report["optimized"]["precision"] == ("bf16" if report["speedup"] > 1 else "strict")
    warned = any("no kernels in bf16" in warning for warning in report["warnings"])
    assert warned != ("_amx;" in report["device"]["fingerprint"])


def test_a_device_that_is_not_there_is_refused_at_once(cli, folder, model_file):
    model = model_file(models.small_model())
    began = time.monotonic()
    finished = optimize(cli, model, folder / "out.onnx", "--device", "cuda:99").expect(9)
    # Not when a worker has failed to come up for a minute.
    assert time.monotonic() - began < 10
    assert json.loads(finished.out)["error"]["reason"] == "DEVICE_UNAVAILABLE"
    assert '"cuda:99": ' in finished.last_error_line


def test_an_opset_below_the_models_is_refused_before_the_search(cli, folder, model_file):
    model = model_file("tiny_inception")
    finished = cli.run("optimize", model, "-o", folder / "out.onnx", "--opset", "7",
                       "--budget", "60s", "--json").expect(2)
    assert "opset 7" in finished.last_error_line
    assert "search\n" not in finished.err


def test_events_are_lines_of_json_on_standard_error(cli, folder, model_file):
    finished = optimize(cli, model_file("tiny_resnet"), folder / "a.onnx", "--events").expect(0)
    events = [json.loads(line) for line in finished.err.splitlines() if line.startswith("{")]
    for event in events:
        schemas.check("watch", event)
    assert [event["sequence"] for event in events] == list(range(1, len(events) + 1))
    assert (events[0]["type"], events[-1]["type"]) == ("QUEUED", "SUCCEEDED")
    assert finished.json["output"]


def test_explaining_tells_what_the_search_decided(cli, folder, model_file):
    model = model_file("tiny_resnet")
    report = optimize(cli, model, folder / "a.onnx", "--explain").expect(0).json
    decisions = report["search"]["trace"].splitlines()
    assert decisions[0].startswith("baseline: ") and decisions[-1].startswith("chosen: ")
    table = cli.run("optimize", model, "-o", folder / "b.onnx", "--budget", "5s", "--explain")
    assert decisions[-1] in table.expect(0).out
    assert "trace" not in optimize(cli, model, folder / "c.onnx").expect(0).json["search"]


@pytest.mark.parametrize("part", [0.0, 0.2, 0.9])
def test_a_truncated_model_is_rejected(cli, folder, model_file, part):
    data = models.light_model("tiny_resnet")
    model = model_file(data[:int(len(data) * part)])
    finished = optimize(cli, model, folder / "out.onnx").expect(3)
    error = json.loads(finished.out)["error"]
    assert error["reason"] == "MODEL_REJECTED" and str(model) in error["message"]
    assert finished.last_error_line.startswith("plait: ")
    assert not (folder / "out.onnx").exists()


def test_an_unknown_operator_is_kept_and_named(cli, folder, model_file):
    model = model_file(models.small_model(operator="Frobnicate", domain="com.example"))
    report = optimize(cli, model, folder / "out.onnx").expect(0).json
    assert report["model"]["opaque_nodes"][0] == "second"
    assert report["optimized"]["body"] == "original"
    # What reads a result of no declared type is not understood either.
    assert report["model"]["host_segments"] == [
        {"operators": ["com.example.Frobnicate", "MatMul"], "nodes": 2,
         "reason": "operator of domain 'com.example'"}]
    assert any("outputs were compared of the part of the model that plait plans" in each
               for each in report["warnings"])
    (line,) = report["runtimes"]
    assert "the whole has no time" in line["note"] and report["recommended"] is None
    kept = [node for node in onnx.load(folder / "out.onnx").graph.node
            if (node.op_type, node.domain) == ("Frobnicate", "com.example")]
    assert len(kept) == 1 and kept[0].name == "second"
    # The part in front of it has its plan, which the command line cannot run without the rest.
    listed = cli.run("plans", folder / "out.onnx", "--json").expect(0).json["plans"]
    assert [plan["fits"] for plan in listed] == [True]
    assert list(listed[0]["shapes"]) == ["input"]
    refused = cli.run("run", folder / "out.onnx", "--seed", "1").expect(3)
    assert "Frobnicate" in refused.last_error_line
    assert "plait.InferenceSession" in refused.last_error_line


def test_nodes_that_run_as_reference_code_are_listed(cli, folder, model_file):
    nodes = [onnx.helper.make_node("Mod", ["x", "two"], ["a"], name="remainder", fmod=1),
             onnx.helper.make_node("Relu", ["a"], ["b"]),
             onnx.helper.make_node("Mod", ["b", "two"], ["y"], name="again", fmod=1)]
    values = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [3, 4])
              for name in ("x", "y")]
    two = onnx.helper.make_tensor("two", onnx.TensorProto.FLOAT, [], [2.0])
    graph = onnx.helper.make_graph(nodes, "remainders", values[:1], values[1:], [two])
    model = model_file(onnx.helper.make_model(
        graph, ir_version=8,
        opset_imports=[onnx.helper.make_opsetid("", 17)]).SerializeToString())
    output = folder / "out.onnx"
    report = optimize(cli, model, output).expect(0).json
    schemas.check("optimize", report)
    for side in ("baseline", "optimized"):
        assert report[side]["fallback_nodes"] == 2
        assert report[side]["predicted_us_low"] is report[side]["predicted_us_high"] is None
        assert report[side]["fallback_operators"] == [
            {"op_type": "Mod", "nodes": 2, "names": ["remainder", "again"]}]
    # What has loaded the plan counts as many.
    (ran,) = cli.run("bench", output, "--rounds", "1", "--json").expect(0).json["models"]
    assert ran["fallback_nodes"] == 2
    assert "reference code: Mod x 2" in cli.run("optimize", model, "-o", output, "--budget",
                                                "5s").expect(0).out


def test_a_model_that_gives_nothing_but_nan_is_returned_as_it_is(cli, folder, model_file):
    # A logarithm of numbers of both signs, and a sum over each row of them.
    model = model_file(models.small_model(operator="Log"))
    finished = optimize(cli, model, folder / "out.onnx").expect(0)
    assert finished.json["equivalence"]["verdict"] == "inconclusive"
    assert finished.json["speedup"] == 1
    assert "--accept-inconclusive" in finished.err
    accepted = optimize(cli, model, folder / "out.onnx", "--accept-inconclusive").expect(0)
    assert accepted.json["equivalence"]["verdict"] == "inconclusive"
    assert accepted.json["cached"] is False


def test_a_missing_file_is_a_usage_error(cli, folder):
    finished = optimize(cli, folder / "absent.onnx", folder / "out.onnx").expect(2)
    assert "absent.onnx" in finished.last_error_line


def test_an_output_that_cannot_be_written_is_told_before_the_search(cli, folder, model_file):
    model = model_file("tiny_resnet")
    output = folder / "absent" / "out.onnx"
    finished = cli.run("optimize", model, "-o", output, "--budget", "10m").expect(2)
    assert "absent/out.onnx" in finished.last_error_line


def test_no_time_is_no_budget(cli, folder, model_file):
    finished = optimize(cli, model_file("tiny_resnet"), folder / "out.onnx", budget="0s").expect(2)
    assert "--budget" in finished.last_error_line


def test_the_private_daemon_is_not_the_one_that_the_environment_describes(folder, model_file):
    class OnAServersMachine(programs.Cli):
        def environment(self):
            return {**super().environment(), "PLAIT_TLS_CERT": "/etc/plait/server.pem",
                    "PLAIT_METRICS_LISTEN": "127.0.0.1:1"}

    cli = OnAServersMachine(folder / "cache")
    optimize(cli, model_file("tiny_resnet"), folder / "out.onnx").expect(0)


@pytest.mark.parametrize("words, suggestion", [
    (["optimise", "m.onnx"], "optimize"), (["optimize", "m.onnx", "--budgte", "5s"], "--budget")])
def test_a_misspelt_word_gets_a_suggestion(cli, words, suggestion):
    assert suggestion in cli.run(*words).expect(2).last_error_line


def start_and_wait_for_search(cli, model, folder):
    running = cli.start("optimize", model, "-o", folder / "out.onnx", "--budget", "60s",
                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_until(lambda: any("--search-child" in processes.command_line(pid)
                           for pid in processes.descendants(running.pid)),
               "the search has started")
    return running, processes.descendants(running.pid)


def test_an_interrupt_cancels_and_leaves_nothing_behind(cli, folder, model_file):
    running, family = start_and_wait_for_search(cli, model_file("tiny_nasnet"), folder)
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=60)
    assert running.returncode == 7
    wait_until(lambda: not any(map(processes.is_alive, family)), "the private daemon ends", 30)
    assert not (folder / "out.onnx").exists()


def test_the_private_daemon_ends_as_soon_as_it_is_asked_to(cli, folder, model_file):
    # Weights that fill the buffers of a socket many times over, both ways.
    model = folder / "large.onnx"
    model.write_bytes(models.small_model(width=1024))
    for _ in range(3):
        cli.run("optimize", model, "-o", folder / "out.onnx", "--search", "none",
                "--no-result-cache").expect(0)
        log = [json.loads(line) for line in (cli.cache / "plait" / "plaitd.log").open()]
        asked, ended = (datetime.datetime.fromisoformat(line["time"]) for line in log
                        if line["event"] in ("server.stopping", "server.stopped"))
        # gRPC may want ten.
        assert (ended - asked).total_seconds() < 5


def test_a_private_daemon_that_was_killed_is_told_at_once(cli, folder, model_file):
    running, _ = start_and_wait_for_search(cli, model_file("tiny_nasnet"), folder)
    daemon, = processes.children(running.pid)
    processes.kill(daemon)
    # A client waits a minute for one that somebody may start again.
    _, errors = running.communicate(timeout=20)
    assert running.returncode == 9 and "plaitd ended while it was at work" in errors


def test_a_killed_client_leaves_no_processes(cli, folder, model_file):
    running, family = start_and_wait_for_search(cli, model_file("tiny_nasnet"), folder)
    assert len(family) >= 3, "a daemon, a worker and a search child"
    os.kill(running.pid, signal.SIGKILL)
    running.communicate(timeout=30)
    wait_until(lambda: not any(map(processes.is_alive, family)), "the private daemon ends", 30)
