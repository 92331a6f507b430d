"""bench/search/practical_times.py: an independent count of what model:h200 predicts."""

import math
import pathlib
import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "build" / "described_devices"
sys.path.insert(0, str(ROOT / "bench" / "models"))
sys.path.insert(0, str(ROOT / "bench" / "search"))

import light  # noqa: E402 (found through the lines above)
import practical_times  # noqa: E402
import skeleton  # noqa: E402

SKELETONS = ROOT / "bench" / "models" / "skeletons"
COLUMNS = [f"{name} {streams}" for name in practical_times.PRECISIONS for streams in ("any", "one")]
MODELS = ("demo", "tiny_resnet", "tiny_densenet", "tiny_sru")


def call(*words):
    return subprocess.run([sys.executable, ROOT / "bench" / "search" / "practical_times.py",
                           *map(str, words)],
                          capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.skipif(not PROGRAM.exists(), reason="described_devices is not built")
def test_the_described_device_agrees_with_a_count_of_the_file(tmp_path):
    models = [light.write(name, tmp_path) for name in MODELS]
    for options in ((), ("--search",)):
        done = call(*options, *models)
        assert done.returncode == 0, done.stdout + done.stderr
        assert len(done.stdout.splitlines()) == 1 + len(models)


@pytest.mark.skipif(not PROGRAM.exists(), reason="described_devices is not built")
def test_both_halve_the_bytes_of_weights(tmp_path):
    values = np.random.default_rng(3).standard_normal((2048, 2048)).astype(np.float32)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])], "row",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2048])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 2048])],
        [numpy_helper.from_array(values, "w")])
    path = tmp_path / "row.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
              path)
    done = call(path)
    assert done.returncode == 0, done.stdout + done.stderr
    fp32_ms, tf32_ms, fp16_ms = map(float, done.stdout.splitlines()[1].split()[3::4])
    assert fp32_ms == tf32_ms
    assert fp16_ms - 0.0025 == pytest.approx((fp32_ms - 0.0025) / 2, abs=0.001)


@pytest.mark.skipif(not PROGRAM.exists(), reason="described_devices is not built")
def test_a_policy_that_seldom_stays_the_best_is_undecided(tmp_path):
    models = [light.write(name, tmp_path) for name in (*MODELS, "tiny_nasnet", "tiny_inception")]
    done = subprocess.run([PROGRAM, "--draws", "20", *models], capture_output=True, text=True,
                          timeout=300, check=True)
    rows = [line.split() for line in done.stdout.splitlines()[1:]]
    assert [row[0] for row in rows] == [model.stem for model in models]
    for _, _, share, regret, _, *undecided in rows:
        assert undecided == (["undecided"] if float(share[:-1]) < 90 else [])
        # What is the best in every draw is never behind.
        assert (float(regret[:-1]) == 0) or share != "100.0%"


def test_a_program_that_says_something_else_is_told(tmp_path):
    other = tmp_path / "other"
    other.write_text("#!/bin/sh\necho head\necho tiny_sru 8 8 1 1 1 1 1 1\n")
    other.chmod(0o700)
    assert call("--described", other, light.write("tiny_sru", tmp_path)).returncode == 1


def test_kernels_of_a_chain_and_of_branches(tmp_path):
    count = practical_times.Count(light.write("tiny_resnet", tmp_path))
    longest_ms, all_ms = count.times_ms(practical_times.PRECISIONS["fp32"])
    assert len(count.kernels) == 11
    assert all_ms * 1000 >= 11 * practical_times.KERNEL_US
    assert longest_ms < all_ms


def test_on_paper_a_longest_path_has_kernels_that_the_sum_has_not(tmp_path):
    def weights(name, *sizes):
        return helper.make_tensor(name, TensorProto.FLOAT, sizes, [0.5] * math.prod(sizes))

    nodes = [
        helper.make_node("Conv", ["x", "w0"], ["a"]),
        helper.make_node("Conv", ["x", "w0b"], ["b"]),
        helper.make_node("Concat", ["a", "b"], ["c"], axis=1),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("Conv", ["r", "w1"], ["d"]),
        helper.make_node("Relu", ["d"], ["e"]),
        helper.make_node("Conv", ["e", "w2"], ["f"], group=4, pads=[1, 1, 1, 1]),
        helper.make_node("Conv", ["f", "w3"], ["g"]),
        helper.make_node("Add", ["g", "d"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes, "cell", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2, 8, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4, 8, 8])],
        [weights("w0", 2, 2, 1, 1), weights("w0b", 2, 2, 1, 1), weights("w1", 4, 4, 1, 1),
         weights("w2", 4, 1, 3, 3), weights("w3", 4, 4, 1, 1)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    path = tmp_path / "cell.onnx"
    onnx.save(model, path)

    # Three convolutions and the separable one, with its Relu and its sum.
    assert len(practical_times.Count(path, on_paper=True).kernels) == 4
    # Besides, the Relu behind the concatenation and the sum behind the separable convolution.
    assert len(practical_times.Count(path, on_paper=True, for_paths=True).kernels) == 6
    assert practical_times.Count(path, on_paper=True, for_paths=True).chain() == 5


def test_on_paper_a_kernel_takes_at_least_what_it_moves():
    kernel = practical_times.Kernel()
    kernel.flops = 60
    kernel.values = {"x": 1_075_000, "y": 2_150_000}
    assert kernel.us(practical_times.PRECISIONS["fp32"]) == pytest.approx(2.5 + 3 / 0.6)
    assert kernel.us(practical_times.PRECISIONS["tf32"]) == pytest.approx(2.5 + 3 / 0.6)
    # Halves of numbers are half of the bytes, of weights as well.
    kernel.weights = 1_075_000
    assert kernel.us(practical_times.PRECISIONS["fp16"]) == pytest.approx(2.5 + 2 / 0.6)


@pytest.fixture(name="restored", params=sorted(
    [path.stem for path in SKELETONS.glob("*.skeleton")] + ["bert_large_384"]))
def restored_model(request, tmp_path):
    """A model of full size, which takes too much room to stay."""
    path = tmp_path / f"{request.param}.onnx"
    architecture = request.param.removesuffix("_384")
    skeleton.restore_file(SKELETONS / f"{architecture}.skeleton", tmp_path / "restored.onnx")
    if architecture == request.param:
        (tmp_path / "restored.onnx").rename(path)
    else:
        done = subprocess.run([sys.executable, ROOT / "bench" / "models" / "tokens.py",
                               tmp_path / "restored.onnx", "384", path],
                              capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, done.stderr
    yield path
    for file in tmp_path.glob("*.onnx"):
        file.unlink()


@pytest.mark.long
@pytest.mark.skipif(not PROGRAM.exists(), reason="described_devices is not built")
def test_a_model_takes_what_was_estimated(restored):
    name = restored.stem
    # The count knows no rewrites, which take a third of GPT-2's kernels.
    done = call(*(["--search"] if name == "gpt2" else []), restored)
    assert done.returncode == 0, done.stdout + done.stderr

    done = call("--paper", restored)
    row = done.stdout.splitlines()[1].split()
    off = dict(zip(COLUMNS, row[4:16:2]))
    beyond = {column for column, share in off.items() if abs(int(share.strip("-+%") or 0)) > 10}
    # Its longest path has less of the work than the estimate says.
    assert beyond == ({"fp32 any"} if name == "nasnet_large" else set()), done.stdout
    assert done.returncode == (1 if beyond else 0), done.stdout + done.stderr
    told = practical_times.ON_PAPER.get(name, practical_times.NO_ESTIMATES)
    assert {column for column, share in off.items() if share != "-"} == {
        column for column, estimate in zip(COLUMNS, told) if estimate}

    done = subprocess.run([PROGRAM, "--draws", "200", restored], capture_output=True, text=True,
                          timeout=300, check=True)
    _, best, stays, regret, *_ = done.stdout.splitlines()[1].split()
    if name == "rnntc_sru":
        assert best != "sequential" and float(regret[:-1]) < 2
    else:
        assert stays == "100.0%", done.stdout
