"""A worker on a simulated GPU: its kernels run, and times are said to be predicted."""

import ctypes
import json
import re
import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import models
import programs
import schemas
import skeleton
import strange_models
from waiting import wait_until

SKELETONS = programs.ROOT / "bench" / "models" / "skeletons"
SIMULATED = programs.BUILD / "simulated_gpu"
SECONDS_MAX = 300
# Of strict fp32: the relative L2 error of a kernel, some layers deep.
REL_ERROR_MAX = 1e-5

pytestmark = pytest.mark.skipif(not (SIMULATED / "libcuda.so.1").exists(),
                                reason="this build has no simulated driver")


def rows_model():
    """What kernels of plait's own compute: elements, windows, rows and what only moves."""
    random = np.random.default_rng(3)
    weights = [numpy_helper.from_array(random.standard_normal(shape).astype(np.float32), name)
               for name, shape in (("scale", [1, 8, 1, 1]), ("row", [8]))]
    nodes = [helper.make_node("Mul", ["x", "scale"], ["a"]),
             helper.make_node("Relu", ["a"], ["b"]),
             helper.make_node("MaxPool", ["b"], ["c"], kernel_shape=[2, 2], strides=[2, 2]),
             helper.make_node("Tanh", ["a"], ["d"]),
             helper.make_node("AveragePool", ["d"], ["e"], kernel_shape=[2, 2], strides=[2, 2]),
             helper.make_node("Add", ["c", "e"], ["f"]),
             helper.make_node("Transpose", ["f"], ["g"], perm=[0, 2, 3, 1]),
             helper.make_node("LayerNormalization", ["g", "row"], ["h"], axis=-1),
             helper.make_node("Softmax", ["h"], ["y"], axis=-1)]
    graph = helper.make_graph(
        nodes, "rows", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 8, 12, 12])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 6, 6, 8])], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    return model.SerializeToString(deterministic=True)


@pytest.fixture
def simulated(monkeypatch):
    """From here on programs find the simulated driver."""
    monkeypatch.setenv("LD_LIBRARY_PATH", str(SIMULATED))


@pytest.fixture
def server(simulated, new_daemon):
    daemon = new_daemon("--workers", "cpu,cuda:0").start()
    daemon.wait_for_worker()
    return ["--server", daemon.address]


def has_stand_ins():
    return (SIMULATED / "libcudnn.so.9").exists()


def concatenations(model):
    return sum(node.op_type == "Concat" for node in onnx.load(model).graph.node)


def outputs_of(cli, folder, model, device):
    """What the model gives on the device, by its embedded plan if that is for it."""
    results = folder / device.replace(":", "_")
    finished = cli.run("run", model, "--seed", "5", "--device", device, "--outputs", results,
                       "--json").expect(0)
    return finished.json, [np.load(path) for path in sorted(results.glob("*.npy"))]


def test_a_job_on_a_simulated_gpu(cli, server, folder):
    model = folder / "rows.onnx"
    model.write_bytes(rows_model())
    optimized = folder / "out.onnx"
    report = cli.run("optimize", model, "-o", optimized, "--device", "cuda:0", "--budget", "60s",
                     *server, "--json").expect(0).json
    schemas.check("optimize", report)
    device = report["device"]
    assert device["id"] == "cuda:0" and device["predicted"] is True
    assert "simulated" in device["name"] and device["fingerprint"].endswith(";_simulated")
    for side in ("baseline", "optimized"):
        assert report[side]["predicted_us"] > 0
        for name in ("latency_us_median", "latency_us_p10", "latency_us_p95", "samples", "load_ms"):
            assert report[side][name] is None
    assert schemas.latencies(report) == []
    assert report["speedup"] > 1 and 1 < report["speedup_low"] <= report["speedup_high"]
    assert report["optimized"]["kernels"] < report["baseline"]["kernels"]
    assert report["optimized"]["fallback_nodes"] == 0
    assert report["equivalence"]["verdict"] == "equivalent"
    assert report["equivalence"]["inputs_tried"] > 0
    models.assert_equal_in_onnx_runtime(model.read_bytes(), optimized.read_bytes())

    assert_equals_reference(cli, folder, optimized, model)


def test_compiled_kernels_are_kept_for_the_next_worker(cli, simulated, new_daemon, folder):
    model = folder / "rows.onnx"
    model.write_bytes(rows_model())
    daemon = new_daemon("--workers", "cuda:0")

    def kernels_after_a_job():
        daemon.start().wait_for_worker()
        cli.run("optimize", model, "-o", folder / "out.onnx", "--device", "cuda:0", "--budget",
                "60s", "--no-result-cache", "--server", daemon.address).expect(0)
        daemon.stop()
        # A kernel that is compiled again is another file of the same name.
        return {path.name: path.stat().st_ino for path in (daemon.data_dir / "kernels").iterdir()}

    first = kernels_after_a_job()
    assert len(first) > 3
    assert kernels_after_a_job() == first


def assert_equals_reference(cli, folder, optimized, original):
    """The plan in the file runs on the device, and gives what the original's definition says."""
    ran, outputs = outputs_of(cli, folder, optimized, "cuda:0")
    assert ran["plan"]["grade"] == "exact"
    _, expected = outputs_of(cli, folder, original, "reference")
    for output, wanted in zip(outputs, expected, strict=True):
        assert np.linalg.norm(output - wanted) <= REL_ERROR_MAX * np.linalg.norm(wanted)


@pytest.mark.skipif(not has_stand_ins(), reason="this build has no stand-ins for cuDNN")
@pytest.mark.parametrize("name, operator", [("detector", "NonMaxSuppression"), ("loop", "Loop"),
                                            ("nonzero", "NonZero")])
def test_what_lies_between_nodes_of_the_host_has_plans(cli, server, folder, name, operator):
    model, optimized = folder / "strange.onnx", folder / "out.onnx"
    model.write_bytes(strange_models.MODELS[name]())
    report = cli.run("optimize", model, "-o", optimized, "--device", "cuda:0", "--budget", "60s",
                     *server, "--json").expect(0).json
    schemas.check("optimize", report)
    # The worker ran each part's plan, and compared it with the part's definition.
    assert report["device"]["predicted"] and report["equivalence"]["verdict"] == "equivalent"
    assert report["speedup"] >= report["speedup_low"] >= 1
    # All that the device does not run is in a part that the result names.
    (part,) = [each for each in report["model"]["host_segments"] if operator in each["operators"]]
    assert part["reason"] and part["nodes"] >= len(part["operators"])
    assert report["optimized"]["fallback_nodes"] == 0 and report["optimized"]["kernels"] > 0
    plans = cli.run("plans", optimized, "--json").expect(0).json["plans"]
    assert plans and all("_simulated" in plan["device"] for plan in plans)
    # The whole runs, too: parts by their plans on the device, the nodes between them on the host.
    ran, outputs = outputs_of(cli, folder, optimized, "cuda:0")
    assert ran["plan"]["grade"] == "exact"
    _, expected = outputs_of(cli, folder, model, "cpu")
    for output, wanted in zip(outputs, expected, strict=True):
        assert output.shape == wanted.shape
        assert np.linalg.norm(output - wanted) <= REL_ERROR_MAX * np.linalg.norm(wanted)


def sums_model():
    """Two sums and a remainder, which the device has no kernels for, between kernels."""
    constants = [numpy_helper.from_array(np.array(1, np.int64), "axis"),
                 numpy_helper.from_array(np.array(2, np.float32), "two")]
    nodes = [helper.make_node("Relu", ["x"], ["a"]),
             helper.make_node("CumSum", ["a", "axis"], ["b"], name="sum"),
             helper.make_node("Mod", ["b", "two"], ["c"], fmod=1),
             helper.make_node("Tanh", ["c"], ["d"]),
             helper.make_node("CumSum", ["d", "axis"], ["e"], name="sum_again"),
             helper.make_node("Neg", ["e"], ["y"])]
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4, 32])
              for name in ("x", "y")]
    graph = helper.make_graph(nodes, "sums", values[:1], values[1:], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    return model.SerializeToString(deterministic=True)


def test_nodes_that_the_host_computes_are_listed(cli, server, folder):
    model, optimized = folder / "sums.onnx", folder / "out.onnx"
    model.write_bytes(sums_model())
    report = cli.run("optimize", model, "-o", optimized, "--device", "cuda:0", "--budget", "60s",
                     *server, "--json").expect(0).json
    schemas.check("optimize", report)
    for side in ("baseline", "optimized"):
        listed = {each["op_type"]: each for each in report[side]["fallback_operators"]}
        assert listed["CumSum"]["names"] == ["sum", "sum_again"]
        assert sum(each["nodes"] for each in listed.values()) == report[side]["fallback_nodes"]
    assert_equals_reference(cli, folder, optimized, model)


@pytest.mark.skipif(not has_stand_ins(), reason="this build has no stand-ins for cuDNN")
@pytest.mark.parametrize("name", ["tiny_resnet", "tiny_mobilenet", "tiny_inception", "tiny_bert",
                                  "tiny_gpt", "tiny_densenet"])
def test_models_with_kernels_of_libraries(cli, server, folder, model_file, name):
    model, optimized = model_file(name), folder / "out.onnx"
    report = cli.run("optimize", model, "-o", optimized, "--device", "cuda:0", "--budget", "120s",
                     *server, "--json").expect(0).json
    assert report["device"]["predicted"] and report["equivalence"]["verdict"] == "equivalent"
    # Kernels that no library has run in parts: none is a reason to refuse a plan.
    assert report["refused"] == [] and report["speedup"] > 1
    # Masks and positions are the device's too.
    assert report["baseline"]["fallback_nodes"] == report["optimized"]["fallback_nodes"] == 0
    if name == "tiny_densenet":
        # Most layers write where the concatenation behind them wants it.
        assert report["optimized"]["copies"] < concatenations(model)
    assert_equals_reference(cli, folder, optimized, model)
    assert_replays(model, optimized, extensions=3)


def plan_text(optimized):
    (text,) = (models.unpacked_text(entry.value) for entry in onnx.load(optimized).metadata_props
               if entry.key == "plait.plan")
    return text


def value_formats(optimized):
    return re.findall(r"value tensor=\d+ format=(\w+)", plan_text(optimized))


def products_model():
    """Products that take longer to compute than to read."""
    random = np.random.default_rng(4)
    weights = [numpy_helper.from_array(random.normal(0, 0.05, shape).astype(np.float32), name)
               for name, shape in (("first", [64, 64, 3, 3]), ("second", [64, 64, 3, 3]),
                                   ("matrix", [256, 256]))]
    weights.append(numpy_helper.from_array(np.array([64, 256], np.int64), "rows"))
    nodes = [helper.make_node("Conv", ["x", "first"], ["a"], pads=[1, 1, 1, 1]),
             helper.make_node("Relu", ["a"], ["b"]),
             helper.make_node("Conv", ["b", "second"], ["c"], pads=[1, 1, 1, 1]),
             helper.make_node("Tanh", ["c"], ["d"]),
             helper.make_node("Reshape", ["d", "rows"], ["e"]),
             helper.make_node("MatMul", ["e", "matrix"], ["y"])]
    graph = helper.make_graph(
        nodes, "products", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 64, 16, 16])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [64, 256])], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    return model.SerializeToString(deterministic=True)


def optimize_within(cli, server, model, optimized, *options):
    """The report, and the forms of the kernels of the plan, for a job that may lose accuracy."""
    report = cli.run("optimize", model, "-o", optimized, "--device", "cuda:0", "--budget", "120s",
                     *options, *server, "--json").expect(0).json
    schemas.check("optimize", report)
    return report, re.findall(r'variant="(\w+)/', plan_text(optimized))


@pytest.mark.skipif(not has_stand_ins(), reason="this build has no stand-ins for cuDNN")
def test_tf32_is_lost_where_it_is_allowed(cli, server, folder):
    model, optimized = folder / "products.onnx", folder / "out.onnx"
    model.write_bytes(products_model())
    report, forms = optimize_within(cli, server, model, optimized, "--precision", "tf32")
    assert report["optimized"]["precision"] == "tf32" and forms.count("tf32") == 3
    assert 1e-5 < report["equivalence"]["max_rel_error"] <= 1e-3
    again = folder / "again.onnx"
    cli.run("replay", report["id"], "-o", again, *server).expect(0)
    assert again.read_bytes() == optimized.read_bytes()
    ran, (output,) = outputs_of(cli, folder, optimized, "cuda:0")
    assert ran["plan"]["grade"] == "exact"
    _, (wanted,) = outputs_of(cli, folder, model, "reference")
    assert 1e-5 < np.abs(output - wanted).max() / np.abs(wanted).max() <= 1e-3
    # Layers whose error counts for too much stay in strict fp32 then.
    report, forms = optimize_within(cli, server, model, optimized, "--precision", "tf32",
                                    "--max-rel-error", "1e-5")
    assert report["equivalence"]["max_rel_error"] <= 1e-5 and "strict" in forms
    report, forms = optimize_within(cli, server, model, optimized, "--max-rel-error", "1e-3")
    assert report["optimized"]["precision"] == "auto" and forms.count("tf32") == 3
    report, forms = optimize_within(cli, server, model, optimized)
    assert report["optimized"]["precision"] == "strict" and "tf32" not in forms


@pytest.mark.skipif(not has_stand_ins(), reason="this build has no stand-ins for cuDNN")
@pytest.mark.parametrize("name", ["tiny_resnet", "tiny_bert"])
def test_models_in_tf32(cli, server, folder, model_file, name):
    model, optimized = model_file(name), folder / "out.onnx"
    report, forms = optimize_within(cli, server, model, optimized, "--precision", "tf32")
    assert report["optimized"]["precision"] == "tf32"
    assert report["equivalence"]["max_rel_error"] <= 1e-3
    assert not any("tf32" in warning for warning in report["warnings"])
    # A product that takes no less time in TF32, as all of tiny_bert, stays in strict fp32.
    assert "strict" in forms and ("tf32" in forms) == (name == "tiny_resnet")


@pytest.mark.skipif(not has_stand_ins(), reason="this build has no stand-ins for cuDNN")
@pytest.mark.parametrize(("precision", "bound"), [("fp16", 1e-2), ("bf16", 5e-2)])
def test_values_lie_in_16_bits_where_it_is_allowed(cli, server, folder, precision, bound):
    model, optimized = folder / "products.onnx", folder / "out.onnx"
    model.write_bytes(products_model())
    report, forms = optimize_within(cli, server, model, optimized, "--precision", precision)
    assert report["optimized"]["precision"] == precision and report["warnings"] == []
    assert forms.count(precision) == 3 and "tf32" not in forms
    assert 1e-4 < report["equivalence"]["max_rel_error"] <= bound
    # The image, what one convolution writes and the next one reads, and what that one writes.
    name = {"fp16": "f16", "bf16": "bf16"}[precision]
    formats = value_formats(optimized)
    assert formats.count(f"{name}_channels_last") >= 3 and formats.count(name) >= 2
    again = folder / "again.onnx"
    cli.run("replay", report["id"], "-o", again, *server).expect(0)
    assert again.read_bytes() == optimized.read_bytes()
    ran, (output,) = outputs_of(cli, folder, optimized, "cuda:0")
    assert ran["plan"]["grade"] == "exact"
    _, (wanted,) = outputs_of(cli, folder, model, "reference")
    assert 1e-4 < np.abs(output - wanted).max() / np.abs(wanted).max() <= bound
    assert_replays(model, optimized, extensions=3, rel_error_max=bound)
    # Where no layer may lose so much, all of them stay in strict fp32.
    report, forms = optimize_within(cli, server, model, optimized, "--precision", precision,
                                    "--max-rel-error", "1e-5")
    assert report["equivalence"]["max_rel_error"] <= 1e-5 and precision not in forms
    assert set(value_formats(optimized)) <= {"plain", "channels_last"}


def overflowing_model():
    """Two products, the second of which gives numbers beyond 65504."""
    random = np.random.default_rng(5)
    weights = [numpy_helper.from_array(random.normal(0, deviation, [256, 256]).astype(np.float32),
                                       name) for name, deviation in (("a", 0.05), ("b", 5e3))]
    nodes = [helper.make_node("MatMul", ["x", "a"], ["y"]), helper.make_node("Tanh", ["y"], ["t"]),
             helper.make_node("MatMul", ["t", "b"], ["z"])]
    graph = helper.make_graph(
        nodes, "overflow", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [64, 256])],
        [helper.make_tensor_value_info("z", TensorProto.FLOAT, [64, 256])], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    return model.SerializeToString(deterministic=True)


@pytest.mark.skipif(not has_stand_ins(), reason="this build has no stand-ins for cuDNN")
@pytest.mark.parametrize(("precision", "products"), [("fp16", 1), ("bf16", 2)])
def test_what_is_too_large_for_16_bits_stays_in_fp32(cli, server, folder, precision, products):
    model, optimized = folder / "overflow.onnx", folder / "out.onnx"
    model.write_bytes(overflowing_model())
    report, forms = optimize_within(cli, server, model, optimized, "--precision", precision)
    assert report["optimized"]["precision"] == precision
    assert forms.count(precision) == products


@pytest.mark.skipif(not has_stand_ins(), reason="this build has no stand-ins for cuDNN")
@pytest.mark.parametrize(("precision", "bound"), [("fp16", 1e-2), ("bf16", 5e-2)])
def test_models_in_16_bits(cli, server, folder, model_file, precision, bound):
    model, optimized = model_file("tiny_resnet"), folder / "out.onnx"
    report, forms = optimize_within(cli, server, model, optimized, "--precision", precision)
    assert report["optimized"]["precision"] == precision and precision in forms
    assert report["equivalence"]["max_rel_error"] <= bound
    report, forms = optimize_within(cli, server, model, optimized)
    assert report["optimized"]["precision"] == "strict" and set(forms) == {"strict"}
    assert set(value_formats(optimized)) <= {"plain", "channels_last"}


def assert_replays(model, optimized, extensions, rel_error_max=REL_ERROR_MAX):
    """In random orders, of which each is proved to have no race, the plan gives the same bits."""
    done = subprocess.run([programs.program("replay_plan"), model, "--extensions", str(extensions),
                           optimized], capture_output=True, text=True,
                          timeout=SECONDS_MAX + extensions, check=False)
    assert done.returncode == 0, done.stderr
    replay = json.loads(done.stdout)
    assert replay["extensions"] == extensions and replay["extensions_that_differ"] == 0
    assert replay["violations"] == [] and replay["max_rel_error"] <= rel_error_max
    assert replay["launches"] == replay["graphs"] >= 1
    assert replay["allocations"] == replay["frees"] == 0
    return replay


@pytest.mark.long
@pytest.mark.skipif(not has_stand_ins(), reason="this build has no stand-ins for cuDNN")
@pytest.mark.parametrize("name", ["tiny_resnet", "tiny_inception", "tiny_nasnet", "tiny_bert",
                                  "tiny_gpt", "tiny_mobilenet", "tiny_sru", "tiny_densenet",
                                  "tiny_dynamic"])
def test_a_thousand_orders_of_a_plan(cli, server, folder, model_file, name):
    model, optimized = model_file(name), folder / "out.onnx"
    cli.run("optimize", model, "-o", optimized, "--device", "cuda:0", "--budget", "120s",
            *server).expect(0)
    replay = assert_replays(model, optimized, extensions=1000)
    assert replay["orders"] > 1 or replay["streams"] == 1


# What is run of models that would take more than minutes.
SMALLER = {"bert_base": ("share", 0.15), "bert_large": ("share", 0.1), "vit_b_16": ("share", 0.1),
           "gpt2": ("share", 0.2), "efficientnet_b0": ("image", 64), "nasnet_large": ("image", 64)}


@pytest.mark.skipif(not has_stand_ins(), reason="this build has no stand-ins for cuDNN")
@pytest.mark.parametrize("name", [
    pytest.param(name, marks=() if name == "rnntc_sru" else pytest.mark.long)
    for name in sorted(path.stem for path in SKELETONS.glob("*.skeleton"))])
def test_a_model_of_the_table(folder, name):
    model = folder / f"{name}.onnx"
    skeleton.restore_file(SKELETONS / f"{name}.skeleton", model)
    kind, value = SMALLER.get(name, (None, None))
    table = folder / "table.json"
    done = subprocess.run(
        [sys.executable, programs.ROOT / "bench" / "simulated_gpu" / "simulate.py", model,
         "--build", programs.BUILD, "--out", folder, "--json", table,
         *([f"--{kind}", str(value)] if kind else [])],
        capture_output=True, text=True, timeout=6 * SECONDS_MAX, check=False,
        env=programs.environment())
    assert done.returncode == 0, done.stdout + done.stderr
    entry = json.loads(table.read_text())[name]
    assert entry["wrong"] == []
    assert entry["size"] == (f"reduced: {kind} {value}" if kind else "full")
    assert set(entry["replays"]) == {"sequential", "nimble", "plait"}
    for replay in entry["replays"].values():
        assert (replay["launches"], replay["graphs"], replay["host_nodes"]) == (1, 1, 0)


def test_nobody_takes_predictions_for_times(cli, server, folder):
    model = folder / "rows.onnx"
    model.write_bytes(rows_model())
    finished = cli.run("optimize", model, "-o", folder / "out.onnx", "--device", "cuda:0",
                       "--budget", "60s", *server).expect(0)
    assert "predicted, not measured" in finished.out and "latency" not in finished.out
    devices = cli.run("devices", *server, "--json").expect(0).json["devices"]
    assert {device["id"]: device["predicted"] for device in devices}["cuda:0"] is True
    profiles = cli.run("profiles", "list", *server, "--json").expect(0).json
    assert "simulated" not in str(profiles)
    for command in (("bench", model), ("gate", model, folder / "out.onnx")):
        refused = cli.run(*command, "--device", "cuda:0")
        assert refused.code != 0 and "is simulated, and has no times" in refused.err
    refused = cli.run("optimize", model, "-o", folder / "out.onnx", "--device", "cuda:0",
                      "--threads", "2", *server)
    assert refused.code != 0 and "cuda:0 is simulated" in refused.err


def failing_worker(folder, faults, times):
    """A program that is plait-worker, and whose simulated GPU fails in its first `times` lives."""
    program = folder / "failing-worker"
    program.write_text(f"""#!/bin/sh
case "$*" in *--server*)
  for life in $(seq {times}); do
    if mkdir {folder}/life-$life 2>/dev/null; then
      export PLAIT_SIMULATED_FAULTS={faults}
      break
    fi
  done
esac
exec {programs.program("plait-worker")} "$@"
""")
    program.chmod(0o755)
    return program


def job_on_a_gpu_that_fails(cli, new_daemon, folder, times, kind="sticky"):
    """The daemon, and what becomes of a job there."""
    model = folder / "rows.onnx"
    model.write_bytes(rows_model())
    daemon = new_daemon("--workers", "cuda:0", "--worker-program",
                        failing_worker(folder, f"cuLaunchKernel:{kind}:3", times)).start()
    daemon.wait_for_worker()
    return daemon, cli.run("optimize", model, "-o", folder / "out.onnx", "--device", "cuda:0",
                           "--budget", "60s", "--server", daemon.address, "--json")


def exit_codes_of_workers(daemon):
    return [event["exit_code"] for event in daemon.log_events()
            if event.get("event") == "worker.ended"]


# After such an error a GPU does nothing for the process that met it, but for the next one.
@pytest.mark.parametrize("kind, exit_code", [("sticky", "10"), ("lost", "12")])
def test_a_worker_whose_gpu_has_failed_is_started_again(cli, simulated, new_daemon, folder, kind,
                                                        exit_code):
    daemon, finished = job_on_a_gpu_that_fails(cli, new_daemon, folder, times=1, kind=kind)
    report = finished.expect(0).json
    assert report["equivalence"]["verdict"] == "equivalent" and report["speedup"] > 1
    assert exit_codes_of_workers(daemon) == [exit_code]


def test_a_worker_that_hangs_as_it_starts_is_started_again(simulated, new_daemon, folder):
    daemon = new_daemon("--workers", "cuda:0", "--worker-start-seconds-max", "5",
                        "--worker-program", failing_worker(folder, "cuInit:hang", times=1)).start()
    daemon.wait_for_worker()
    events = {event["event"]: event for event in daemon.log_events() if "worker" in event}
    assert "worker.hung" in events and events["worker.ended"]["signal"] == "9"


def test_a_job_whose_gpu_fails_again_and_again_is_quarantined(cli, simulated, new_daemon, folder):
    daemon, failed = job_on_a_gpu_that_fails(cli, new_daemon, folder, times=99)
    assert failed.code == 6 and "ended their workers 2 times" in failed.err
    assert 'device "cuda:0" has failed' in failed.err and "ILLEGAL_ADDRESS" in failed.err
    # Three workers of each run; the last one ends behind the job.
    assert exit_codes_of_workers(daemon)[:5] == ["10"] * 5
    assert daemon.is_alive()


@pytest.mark.skipif(not has_stand_ins(), reason="this build has no stand-ins for cuDNN")
def test_check_compares_the_kernels_of_a_gpu_with_the_reference():
    check = ("--device", "cuda:0", "--check")
    finished = worker(*check, LD_LIBRARY_PATH=str(SIMULATED))
    assert finished.returncode == 0, finished.stderr
    device = json.loads(finished.stdout)
    assert device["id"] == "cuda:0" and device["kernels_checked"] > 10
    finished = worker(*check, LD_LIBRARY_PATH=str(SIMULATED),
                      PLAIT_SIMULATED_FAULTS="cuGraphLaunch:error:2")
    assert finished.returncode == 1 and finished.stdout == ""
    assert "self test: conv kernel" in finished.stderr


def test_each_gpu_has_a_worker(cli, simulated, new_daemon):
    daemon = new_daemon().start()

    def devices():
        listed = cli.run("devices", "--server", daemon.address, "--json").expect(0).json["devices"]
        return {device["id"] for device in listed}

    wait_until(lambda: {"cpu", "cuda:0", "cuda:1"} <= devices(), "all workers connect", 60)


def worker(*words, **variables):
    return subprocess.run([programs.program("plait-worker"), *words], capture_output=True,
                          text=True, timeout=SECONDS_MAX, check=False,
                          env=programs.environment(**variables))


def test_a_worker_says_what_is_missing():
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        finished = worker("--device", "cuda:0", "--check")
        assert finished.returncode == 9
        assert 'device "cuda:0"' in finished.stderr and "libcuda.so.1" in finished.stderr
        finished = worker("--list", "cuda")
        assert finished.returncode == 9 and "libcuda.so.1" in finished.stderr
    finished = worker("--device", "cuda:7", "--check", LD_LIBRARY_PATH=str(SIMULATED))
    assert finished.returncode == 9 and "there are 2 devices" in finished.stderr
    finished = worker("--list", "cuda", LD_LIBRARY_PATH=str(SIMULATED))
    assert finished.returncode == 0 and finished.stdout == "cuda:0\ncuda:1\n"
    finished = worker("--device", "cuda", "--check", LD_LIBRARY_PATH=str(SIMULATED))
    assert finished.returncode == 9 and '"cuda:0", "cuda:1"' in finished.stderr


@pytest.mark.skipif(not has_stand_ins(), reason="this build has no stand-ins for cuDNN")
def test_a_plan_names_what_was_tried_and_loads_that(cli, server, folder):
    model, optimized = folder / "products.onnx", folder / "out.onnx"
    model.write_bytes(products_model())
    cli.run("optimize", model, "-o", optimized, "--device", "cuda:0", "--budget", "60s",
            *server).expect(0)
    variants = re.findall(r'variant="([^"]+)"', plan_text(optimized))
    named = [variant for variant in variants if re.match(r"strict/(parts:)?\w+/", variant)]
    # The library's own names, in a part of a step or alone.
    assert any("cudnn/eng" in variant for variant in named), variants
    assert any("cublaslt/" in variant for variant in named), variants
    replay = assert_replays(model, optimized, extensions=1)
    assert replay["named_steps"] == replay["steps_loaded_as_named"] == len(named) >= 3
    assert_equals_reference(cli, folder, optimized, model)
