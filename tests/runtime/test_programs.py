"""Programs that users write: compiled against the installed tree, and nothing else."""

import re
import subprocess

import numpy as np
import onnx
import pytest
from installed import ROOT, cached, programs, run

import models
import sample_inputs

EXAMPLES = ROOT / "runtime" / "examples"


def with_inputs(model, folder):
    """Inputs of a model, as one file of all their bytes and as a folder of arrays."""
    arrays = sample_inputs.session_inputs(models.session_of(model.read_bytes()), seed=3)
    folder.mkdir()
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    whole = folder / "inputs.bin"
    whole.write_bytes(b"".join(array.tobytes() for array in arrays.values()))
    return arrays, whole


def outputs_of(data, model):
    """The arrays whose bytes lie one after the other, by the names of the model's outputs."""
    arrays = {}
    for value in onnx.load(model).graph.output:
        shape = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        size = int(np.prod(shape)) * dtype.itemsize
        arrays[value.name] = np.frombuffer(data[:size], dtype).reshape(shape)
        data = data[size:]
    assert not data
    return arrays


@pytest.fixture(scope="session")
def serve(installed, tmp_path_factory):
    build = tmp_path_factory.mktemp("serve")
    installed.build(EXAMPLES / "cpp", build)
    return build / "serve"


@pytest.mark.parametrize("name", ["tiny_resnet", "tiny_bert"])
def test_a_thousand_runs_from_four_threads_give_what_plait_run_gives(
        name, serve, installed, planned_model, tmp_path):
    model = planned_model(name)
    _, whole = with_inputs(model, tmp_path / "inputs")
    out = run(serve, model, 1000, 4, whole, tmp_path / "outputs.bin",
              env=installed.environment())
    assert out == "1000 runs, 0 different\n"
    cli = programs.Cli(tmp_path / "cache")
    cli.run("run", model, "--inputs", tmp_path / "inputs", "--outputs",
            tmp_path / "outputs").expect(0)
    for output, array in outputs_of((tmp_path / "outputs.bin").read_bytes(), model).items():
        np.testing.assert_array_equal(array, np.load(tmp_path / "outputs" / f"{output}.npy"))


@pytest.mark.parametrize("name", ["tiny_resnet", "tiny_inception", "tiny_mobilenet", "tiny_bert",
                                  "tiny_sru", "tiny_densenet"])
def test_a_model_without_a_plan_runs_as_onnxruntime_runs_it(name, serve, installed, tmp_path):
    model = tmp_path / "model.onnx"
    model.write_bytes(models.light_model(name))
    arrays, whole = with_inputs(model, tmp_path / "inputs")
    run(serve, model, 8, 2, whole, tmp_path / "outputs.bin", env=installed.environment())
    expected = models.session_of(model.read_bytes()).run(None, arrays)
    got = outputs_of((tmp_path / "outputs.bin").read_bytes(), model)
    for array, judged in zip(got.values(), expected):
        np.testing.assert_allclose(array, judged, rtol=0,
                                   atol=models.REL_ERROR_MAX * np.abs(judged).max())


def test_the_c_example_classifies(installed, planned_model, tmp_path):
    program = installed.compile(EXAMPLES / "c" / "classify.c", tmp_path / "classify", "-std=c99",
                                "-pedantic", "-Wall", "-Wextra", "-Werror")
    model = planned_model("tiny_resnet")
    arrays, whole = with_inputs(model, tmp_path / "inputs")
    finished = subprocess.run([program, model, whole], text=True, capture_output=True, check=True,
                              env=installed.environment())
    assert "the plan in the model is used" in finished.stderr
    scores = models.session_of(model.read_bytes()).run(None, arrays)[0].ravel()
    best = [int(line.split()[0]) for line in finished.stdout.splitlines()]
    assert best == list(np.argsort(-scores, kind="stable")[:5])


def test_the_c_example_builds_as_a_cmake_project(installed, tmp_path):
    installed.build(EXAMPLES / "c", tmp_path)
    assert (tmp_path / "classify").exists() and (tmp_path / "latency").exists()


@pytest.mark.parametrize("options", [[], ["-p"]])
def test_the_c_example_times_a_model(options, installed, planned_model, tmp_path):
    program = installed.compile(EXAMPLES / "c" / "latency.c", tmp_path / "latency", "-std=c99",
                                "-pedantic", "-Wall", "-Wextra", "-Werror")
    printed = run(program, *options, planned_model("tiny_resnet"), 9, env=installed.environment())
    median, low, high = map(float, printed.split())
    assert 0 < low <= median <= high
    wrong = subprocess.run([program], env=installed.environment(), capture_output=True, check=False)
    assert wrong.returncode == 2


@pytest.mark.skipif(bool(cached("PLAIT_SANITIZE")), reason="programs are not instrumented alike")
def test_the_installed_programs_run(installed):
    assert run(installed.prefix / "bin" / "plait", "version").startswith("plait ")
    for name in ("plaitd", "plait-worker"):
        assert (installed.prefix / "bin" / name).exists()


def code_blocks(language):
    """The code of docs/runtime.md in one language, block by block."""
    text = (ROOT / "docs" / "runtime.md").read_text()
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("language, suffix", [("c", ".c"), ("cpp", ".cc")])
def test_the_code_of_the_guide_compiles_and_runs(language, suffix, installed, planned_model,
                                                 tmp_path):
    blocks = code_blocks(language)
    assert blocks
    for number, block in enumerate(blocks):
        source = tmp_path / f"guide_{number}{suffix}"
        source.write_text(block)
        program = installed.compile(source, tmp_path / f"guide_{number}", "-Wall", "-Werror")
        (tmp_path / "model.onnx").write_bytes(planned_model("tiny_resnet").read_bytes())
        run(program, cwd=tmp_path, env=installed.environment())
