"""beside_others.py MODEL LIBRARY...: loads libraries into this process in the given order, runs
MODEL or something like it in each of them, twice, and finds plait's results equal to the others'.
"""

import sys

import numpy as np


def use_onnx(model, array):
    import onnx
    import onnx.checker

    onnx.checker.check_model(onnx.load_from_string(model), full_check=True)


def use_onnxruntime(model, array):
    import onnxruntime

    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    return session.run(None, {session.get_inputs()[0].name: array})[0]


def use_openvino(model, array):
    import openvino

    core = openvino.Core()
    # Its default on some processors is bfloat16.
    compiled = core.compile_model(core.read_model(model), "CPU",
                                  {"INFERENCE_PRECISION_HINT": "f32"})
    return compiled([array])[0]


def use_torch(model, array):
    import torch

    # oneDNN and OpenMP, which torch has of its own.
    image = torch.from_numpy(array)
    weights = torch.ones(8, array.shape[1], 3, 3)
    assert torch.isfinite(torch.nn.functional.conv2d(image, weights, padding=1)).all()


def use_plait(model, array):
    import plait

    session = plait.InferenceSession(model)
    return session.run(None, {session.get_inputs()[0].name: array})[0]


def main():
    path, *libraries = sys.argv[1:]
    with open(path, "rb") as file:
        model = file.read()
    for library in libraries:
        __import__(library)
    import plait

    shape = plait.InferenceSession(model).get_inputs()[0].shape
    array = np.random.default_rng(3).standard_normal(shape).astype(np.float32)
    for _ in range(2):
        results = {name: globals()[f"use_{name}"](model, array) for name in libraries}
        ours = results.pop("plait")
        for name, result in results.items():
            if result is None:
                continue
            error = np.abs(result - ours).max() / np.abs(result).max()
            assert error < 1e-4, f"{name}: {error}"
    print("equal")


main()
