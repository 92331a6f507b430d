"""bench/search/practical_times.py: an independent count of what model:h200 predicts."""

import pathlib
import subprocess
import sys

import pytest

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
