"""Quantized models give the integers that onnxruntime gives, but for one in a rare place."""

import importlib.util
import sys

import numpy as np
import pytest
import quantized_models
import strange_models
from test_host_runner import run_in_plait
from test_python import PYTHON, SANITIZED

import models

pytestmark = [SANITIZED, pytest.mark.skipif(
    PYTHON == sys.executable and not importlib.util.find_spec("onnxruntime"),
    reason="onnxruntime is what plait is compared with")]


@pytest.mark.parametrize("signed", [False, True], ids=["uint8", "int8"])
def test_integers_are_those_of_onnxruntime(signed, installed, tmp_path):
    model = tmp_path / "quantized.onnx"
    model.write_bytes(quantized_models.bottleneck(signed))
    judge = models.session_of(model.read_bytes(), optimized=False)
    feeds = [strange_models.inputs_of(judge, seed) for seed in range(4)]
    _, outputs = run_in_plait(installed, model, feeds, tmp_path, threads=2)
    for number, feed in enumerate(feeds):
        expected = judge.run(None, feed)[0]
        found = outputs[f"{number}/classes"]
        assert found.dtype == expected.dtype and len(np.unique(expected)) > 4
        assert np.abs(found.astype(int) - expected.astype(int)).max() <= 1
