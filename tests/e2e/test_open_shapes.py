"""What verbs that run models themselves make of dimensions that a model leaves open."""

import numpy as np
import pytest

import models

WIDTH = 48
ASSUMED = "warning: dimension 0 (N) of input is open, and 1 here (--shape gives another)"


@pytest.fixture
def open_model(model_file):
    return model_file(models.small_model(WIDTH, rows="N"))


@pytest.mark.parametrize("words", [
    ("bench", "--rounds", "1"), ("run", "--seed", "1"), ("explain",), ("explain", "--rule", "all"),
    ("kernels",), ("profiles", "explain-miss")], ids=" ".join)
def test_a_batch_that_nothing_gives_is_one(cli, folder, open_model, words):
    options = [] if words[0] in ("run", "bench", "explain", "kernels") else ["--cache-dir", folder]
    finished = cli.run(*words, open_model, *options).expect(0)
    assert finished.err.count(ASSUMED) == 1
    shaped = cli.run(*words, open_model, *options, "--shape", f"input=3x{WIDTH}").expect(0)
    assert "is open" not in shaped.err


def test_inputs_that_are_given_settle_it(cli, folder, open_model):
    inputs = folder / "inputs"
    inputs.mkdir()
    values = np.random.default_rng(3).standard_normal((5, WIDTH)).astype(np.float32)
    np.save(inputs / "input.npy", values)
    finished = cli.run("run", open_model, "--inputs", inputs, "--json").expect(0)
    assert finished.json["outputs"][0]["shape"] == [5, WIDTH] and "is open" not in finished.err
    cli.run("verify", open_model, open_model, "--inputs", inputs).expect(0)
    np.save(inputs / "input.npy", values[:, 1:])
    assert "must be float32[1,48]" in cli.run("run", open_model, "--inputs", inputs).expect(2).err


def test_models_that_are_compared_have_the_shapes_of_the_plan(cli, folder, model_file):
    model, output = model_file("tiny_dynamic"), folder / "out.onnx"
    (value,) = models.session_of(model.read_bytes()).get_inputs()
    dims = [dim if isinstance(dim, int) else 3 for dim in value.shape]
    shape = f"{value.name}={'x'.join(map(str, dims))}"
    cli.run("optimize", model, "-o", output, "--budget", "8s", "--shape", shape).expect(0)
    (plan,) = cli.run("plans", output, "--json").expect(0).json["plans"]
    assert plan["shapes"] == {value.name: dims}
    bench = cli.run("bench", model, output, "--rounds", "1", "--json").expect(0)
    assert bench.json["models"][1]["plan"]["grade"] == "exact"
    for words in (("verify",), ("verify", "--plan"), ("diff", "--budget", "1s")):
        assert "is open" not in cli.run(*words, model, output).expect(0).err + bench.err
    with_both = cli.run("verify", output, model, "--plan", "--json").expect(0).json
    assert [entry["grade"] for entry in with_both["plans"]] == ["exact", "none"]


def test_models_that_are_compared_name_the_file_of_an_unknown_operator(cli, model_file):
    known = model_file(models.small_model(), "known")
    unknown = model_file(models.small_model(operator="Frobnicate", domain="com.example"), "unknown")
    for words in (("bench", "--rounds", "1"), ("gate",), ("diff",)):
        finished = cli.run(*words, known, unknown).expect(3)
        assert f"{unknown}: " in finished.last_error_line, finished.err
        assert "Frobnicate" in finished.last_error_line, finished.err
