"""Devices that are only described: everything that is said of them is said to be predicted."""

import json
import pathlib
import re

import onnx
import pytest

import models
import schemas


@pytest.fixture
def server(shared_daemon):
    return ["--server", shared_daemon.address]


def optimize(cli, server, folder, model, *options):
    return cli.run("optimize", model, "-o", folder / "out.onnx", "--device", "model:h200",
                   "--budget", "20s", *server, *options)


def test_a_result_for_a_gpu_that_is_not_there(cli, server, folder, model_file):
    model = model_file("tiny_resnet")
    report = optimize(cli, server, folder, model, "--json").expect(0).json
    schemas.check("optimize", report)
    assert report["device"] == {"id": "model:h200", "name": "NVIDIA H200",
                                "fingerprint": "model;_h200", "predicted": True}
    for side in ("baseline", "optimized"):
        predicted_us = report[side]["predicted_us"]
        low, high = report[side]["predicted_us_low"], report[side]["predicted_us_high"]
        # The constants are drawn within 30 %.
        assert predicted_us / 1.31 < low < predicted_us < high < predicted_us * 1.31
        for name in ("latency_us_median", "latency_us_p10", "latency_us_p95", "samples", "load_ms"):
            assert report[side][name] is None
    ratio = report["baseline"]["predicted_us"] / report["optimized"]["predicted_us"]
    assert report["speedup"] == pytest.approx(ratio) and ratio > 1
    # With other constants of the device, too.
    assert 1 < report["speedup_low"] <= report["speedup"] <= report["speedup_high"]
    assert report["optimized"]["kernels"] < report["baseline"]["kernels"]
    assert report["equivalence"]["verdict"] == "equivalent"
    assert report["equivalence"]["inputs_tried"] > 0
    (planned,) = report["plans"]
    assert planned["predicted"] and planned["predicted_us"] == report["optimized"]["predicted_us"]
    assert schemas.latencies(report) == []
    assert report["runtimes"] == [] and report["recommended"] is None
    models.assert_equal_in_onnx_runtime(model.read_bytes(), (folder / "out.onnx").read_bytes())

    (plan,) = cli.run("plans", folder / "out.onnx", "--json").expect(0).json["plans"]
    assert plan["predicted"] and not plan["fits"]
    assert "model:h200, which is only described, and no runtime runs it" in plan["reason"]
    finished = cli.run("run", folder / "out.onnx", "--seed", "1", "--json").expect(0)
    assert finished.json["plan"]["grade"] == "default" and "model:h200" in finished.err


def test_equal_requests_give_equal_files(cli, server, folder, model_file):
    model = model_file("tiny_resnet")
    digests = {optimize(cli, server, folder, model, "--no-result-cache", "--json").expect(0)
               .json["output"]["digest"] for _ in range(2)}
    assert len(digests) == 1


def test_a_replay_repeats_it(cli, server, folder, model_file):
    model = model_file("tiny_resnet")
    report = optimize(cli, server, folder, model, "--json").expect(0).json
    again = folder / "again.onnx"
    replayed = cli.run("replay", report["id"], "-o", again, *server, "--json").expect(0).json
    assert again.read_bytes() == (folder / "out.onnx").read_bytes()
    assert replayed["device"]["predicted"] and replayed["optimized"]["samples"] is None


def test_people_are_told(cli, server, folder, model_file):
    finished = optimize(cli, server, folder, model_file("tiny_resnet")).expect(0)
    assert "on model:h200 (NVIDIA H200), predicted, not measured" in finished.out
    assert "latency" not in finished.out
    baseline = next(line for line in finished.out.splitlines() if "baseline" in line)
    assert re.fullmatch(r"  baseline +\d+\.\d +\d+  \[\d+\.\d, \d+\.\d\]", baseline)
    listed = cli.run("devices", *server).expect(0).out
    assert "model:h200" in listed and "predicted" in listed
    devices = cli.run("devices", *server, "--json").expect(0).json["devices"]
    assert {device["id"]: device["predicted"] for device in devices}["model:a100"] is True


def test_what_cannot_be_is_refused(cli, server, folder, model_file):
    model = model_file("tiny_resnet")
    unknown = cli.run("optimize", model, "-o", folder / "out.onnx", "--device", "model:h2000",
                      *server).expect(9)
    assert "model:a100, model:h200, model:l40s" in unknown.err
    for options in (["--precision", "bf16"], ["--threads", "2"], ["--runtime", "onnxruntime"]):
        refused = optimize(cli, server, folder, model, *options)
        assert refused.code != 0 and "only described" in refused.err
    cli.run("bench", model, "--device", "model:h200").expect(9)


def test_without_a_server(cli, folder, model_file):
    optimize(cli, [], folder, model_file("tiny_resnet"), "--json").expect(0)


RECORDED = pathlib.Path(__file__).parents[2] / "bench/results/gpu/nvidia-h200/2026-11-26"


def relu_model(shape):
    value = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)
             for name in ("input", "output")]
    graph = onnx.helper.make_graph([onnx.helper.make_node("Relu", ["input"], ["output"])], "relu",
                                   value[:1], value[1:])
    return onnx.helper.make_model(
        graph, ir_version=8,
        opset_imports=[onnx.helper.make_opsetid("", 17)]).SerializeToString()


def recorded_us(problem):
    """What the H200 took for it, in turns."""
    lines = (RECORDED / "candidates.jsonl").read_text().splitlines()
    found = [one for one in map(json.loads, lines) if one["problem"] == problem]
    return min(us for one in found for us in one["finalist_us"].values())


def optimize_here(cli, folder, model):
    return cli.run("optimize", model, "-o", folder / "out.onnx", "--device", "model:h200",
                   "--budget", "20s", "--search", "normal_form", "--json").expect(0).json


def test_recorded_times_stand_in_for_predictions(cli, folder, model_file):
    """Key by key: all but those that were recorded stay what they were."""
    model = model_file(relu_model([1, 1024, 14, 14]))
    alone = optimize_here(cli, folder, model)
    assert not any("recorded" in warning for warning in alone["warnings"])
    imported = cli.run("profiles", "import", RECORDED, "--json").expect(0).json
    schemas.check("profiles", imported)
    assert imported["device"] == "model:h200" and imported["imported"] == imported["count"] > 100
    families = {row["family"]: row for row in imported["families"]}
    assert families["all"]["recorded"] == imported["count"]
    assert families["attention"]["recorded"] == 0 and families["attention"]["ratio_median"] is None

    mixed = optimize_here(cli, folder, model)
    assert not mixed["cached"] and mixed["search"]["profiles_cached"] > 0
    assert mixed["device"]["predicted"] and mixed["optimized"]["latency_us_median"] is None
    (warning,) = [one for one in mixed["warnings"] if "recorded" in one]
    kernels = mixed["search"]["profiles_cached"] + mixed["search"]["profiles_measured"]
    assert f"of {kernels} times of kernels {mixed['search']['profiles_cached']} were" in warning
    took_us = recorded_us("elementwise [relu(x0)] 1 1024 14 14 nchw")
    assert mixed["optimized"]["predicted_us"] == pytest.approx(took_us)
    assert alone["optimized"]["predicted_us"] != pytest.approx(took_us)
    assert optimize_here(cli, folder, model)["cached"]

    again = cli.run("profiles", "import", RECORDED).expect(0).out
    assert " 0 were new or better" in again and "PREDICTED / RECORDED" in again
    cli.run("profiles", "gc", "--device-fingerprint", "model;_h200", "--older-than",
            "0s").expect(0)
    back = optimize_here(cli, folder, model)
    assert back["optimized"]["predicted_us"] == alone["optimized"]["predicted_us"]
