"""Models with nodes that no plan is for: plait computes them between parts that have plans."""

import pytest

import strange_models

NODES = {"detector": "NonMaxSuppression", "loop": "Loop"}


@pytest.fixture(name="model", params=NODES)
def fixture_model(request, model_file):
    """The name of one, and its file."""
    return request.param, model_file(strange_models.MODELS[request.param](), request.param)


def test_it_is_timed_and_gated_with_the_plans_of_its_parts(cli, folder, model):
    name, original = model
    optimized = folder / "optimized.onnx"
    cli.run("optimize", original, "-o", optimized, "--budget", "8s").expect(0)
    bench = cli.run("bench", original, optimized, "--rounds", "2", "--json").expect(0).json
    before, after = bench["models"]
    assert before["plan"]["grade"] == "default" and not before["embedded_plan"]
    assert after["plan"]["grade"] == "exact" and after["embedded_plan"]
    assert all(each["kernels"] > 0 and each["latency_us_median"] > 0 for each in (before, after))
    assert bench["ratio"]["median"] > 0
    words = ["--budget", "0", "--json"]
    gate = cli.run("gate", original, optimized, *words).expect(5).json
    assert [gate[side]["plan"] for side in ("base", "new")] == [before["plan"], after["plan"]]
    assert NODES[name] in gate["new"]["plan"]["explanation"]
    assert gate["base"]["samples"] == gate["new"]["samples"] >= 2
    cli.run("gate", optimized, optimized, "--require-plan", *words).expect(5)
    refused = cli.run("gate", original, optimized, "--require-plan", *words).expect(3)
    assert f"{original}: " in refused.last_error_line


def test_what_looks_at_kernels_says_that_it_runs_in_parts(cli, model):
    name, file = model
    for verb in (["explain", file], ["diff", file, file]):
        refused = cli.run(*verb).expect(3).last_error_line
        assert f"{NODES[name]} runs on the host" in refused and "plait run, bench" in refused
        assert "onnxruntime" not in refused


def test_unknown_operators_need_another_runtime(cli, model_file):
    file = model_file(strange_models.custom())
    for verb in (["bench", file], ["gate", file, file], ["explain", file], ["diff", file, file]):
        refused = cli.run(*verb).expect(3).last_error_line
        assert "Frobnicate cannot be run" in refused
        assert "plait.InferenceSession runs the model" in refused
