"""bench/search/practical_times.py: an independent count of what model:h200 predicts."""

import math
import pathlib
import subprocess
import sys

import onnx
import pytest
from onnx import TensorProto, helper

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "build" / "described_devices"
sys.path.insert(0, str(ROOT / "bench" / "models"))
sys.path.insert(0, str(ROOT / "bench" / "search"))

import light  # noqa: E402 (found through the lines above)
import practical_times  # noqa: E402

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
    other.write_text("#!/bin/sh\necho head\necho tiny_sru 8 8 1 1 1 1\n")
    other.chmod(0o700)
    assert call("--described", other, light.write("tiny_sru", tmp_path)).returncode == 1


def test_kernels_of_a_chain_and_of_branches(tmp_path):
    count = practical_times.Count(light.write("tiny_resnet", tmp_path))
    longest_ms, all_ms = count.times_ms(practical_times.RATES["fp32"])
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
    kernel.value_bytes = {"x": 4_300_000, "y": 8_600_000}
    assert kernel.us(practical_times.RATES["fp32"]) == pytest.approx(2.5 + 3 / 0.6)
