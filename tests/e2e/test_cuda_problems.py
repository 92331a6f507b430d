"""Every kernel of plans for a GPU is, as a problem of the cuda backend, what its nodes say."""

import subprocess

import pytest

import models
import programs

NAMES = ["tiny_resnet", "tiny_inception", "tiny_nasnet", "tiny_bert", "tiny_gpt", "tiny_mobilenet",
         "tiny_sru", "tiny_densenet"]
# Kernels that the backend has not: integers, which only prepare masks and places, and recurrences.
HOST_FAMILY = "other "


@pytest.mark.parametrize("name", NAMES)
def test_problems_compute_what_nodes_do(tmp_path, name):
    path = tmp_path / f"{name}.onnx"
    path.write_bytes(models.light_model(name))
    done = subprocess.run([programs.program("check_problems"), path], capture_output=True,
                          text=True, timeout=programs.RUN_SECONDS_MAX)
    assert done.returncode == 0, done.stdout
    missing = [line.split(" x ")[1] for line in done.stdout.splitlines() if "no problem" in line]
    assert all(line.startswith(HOST_FAMILY) for line in missing), done.stdout
