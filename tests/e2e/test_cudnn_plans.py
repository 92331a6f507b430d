"""cuDNN itself, without a device, finalises a plan for each step that plans leave to it."""

import json
import subprocess

import pytest

import models
import programs
import skeleton

SKELETONS = programs.ROOT / "bench" / "models" / "skeletons"
PROGRAM = programs.BUILD / "cudnn_plans"
SECONDS_MAX = 1200

pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason="this build has no cuDNN")


def lines_of(folder, model, precisions):
    lines = folder / "plans.jsonl"
    done = subprocess.run([PROGRAM, "--precision", precisions, "--jsonl", lines, model],
                          capture_output=True, text=True, timeout=SECONDS_MAX, check=False)
    if "this machine has no cuDNN" in done.stderr:
        pytest.skip("this machine has no cuDNN")
    assert done.returncode == 0, done.stdout + done.stderr
    return {line["precision"]: line for line in map(json.loads, lines.read_text().splitlines())}


def assert_complete(line):
    assert line["failures"] == 0
    assert line["problems"] == (line["precompiled"] + line["compiled_at_run_time"] +
                                len(line["without"]))
    # What cuDNN has no engine for is somebody else's.
    assert all(step["instead"] for step in line["without"]), line["without"]


def test_plans_of_convolutions(tmp_path):
    model = tmp_path / "tiny_resnet.onnx"
    model.write_bytes(models.light_model("tiny_resnet"))
    lines = lines_of(tmp_path, model, "strict,fp16")
    for line in lines.values():
        assert_complete(line)
        assert line["precompiled"] >= 8
    assert {step["instead"] for step in lines["strict"]["without"]} == {"cublaslt"}


def test_plans_of_products(tmp_path):
    model = tmp_path / "tiny_bert.onnx"
    model.write_bytes(models.light_model("tiny_bert"))
    lines = lines_of(tmp_path, model, "strict,tf32")
    for line in lines.values():
        assert_complete(line)
    # cuDNN multiplies matrices on tensor cores alone, by what it compiles at run time.
    assert lines["strict"]["precompiled"] == lines["tf32"]["precompiled"] == 0
    assert lines["tf32"]["compiled_at_run_time"] == lines["tf32"]["problems"] > 0
    # Strict attention is our kernel.
    others = {step["instead"].split("/")[0] for step in lines["strict"]["without"]}
    assert others == {"cublaslt", "generated"}


@pytest.mark.long
@pytest.mark.parametrize("path", sorted(SKELETONS.glob("*.skeleton")), ids=lambda path: path.stem)
def test_plans_of_the_14_models(tmp_path, path):
    model = tmp_path / f"{path.stem}.onnx"
    skeleton.restore_file(path, model)
    for line in lines_of(tmp_path, model, "strict,tf32,fp16,bf16").values():
        assert_complete(line)


def test_usage():
    done = subprocess.run([PROGRAM, "--help"], capture_output=True, text=True, timeout=60,
                          check=True)
    assert "Example" in done.stdout
    for words in ([], ["--precision", "fp8", "model.onnx"], ["--what"]):
        done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=60,
                              check=False)
        assert done.returncode == 2 and "usage" in done.stderr
