"""Quantizes restored skeletons with ONNX Runtime's tools; runs inside the torch environment.

mobilenet_v2_int8 is what its static quantization writes (QuantizeLinear and DequantizeLinear around
every operator, ranges from random images), bert_int8 what its dynamic one does (MatMulInteger).
"""

import argparse
import pathlib
import sys
import tempfile

import onnx
from onnxruntime import quantization
from onnxruntime.quantization import shape_inference

import export_common
import sample_inputs
import skeleton

SKELETONS = pathlib.Path(__file__).resolve().parent / "skeletons"
CALIBRATION_RUNS = 4


class RandomInputs(quantization.CalibrationDataReader):
    """Some random inputs of a model, from which ranges are read."""

    def __init__(self, model, seed):
        graph = onnx.load(str(model))
        self.inputs = iter([sample_inputs.model_inputs(graph, seed + i)
                            for i in range(CALIBRATION_RUNS)])

    def get_next(self):
        return next(self.inputs, None)


def quantize_static(source, target, seed):
    """Bytes for activations, signed bytes per channel for weights."""
    prepared = source.with_suffix(".prepared.onnx")
    shape_inference.quant_pre_process(str(source), str(prepared))
    quantization.quantize_static(
        str(prepared), str(target), RandomInputs(prepared, seed), per_channel=True,
        quant_format=quantization.QuantFormat.QDQ)


def quantize_dynamic(source, target, _seed):
    """Activations are quantized as they come, products by weights become integer."""
    quantization.quantize_dynamic(str(source), str(target))


MODELS = {
    "bert_int8": ("bert_base", quantize_dynamic),
    "mobilenet_v2_int8": ("mobilenet_v2", quantize_static),
    "resnet50_int8": ("resnet50", quantize_static),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="+", choices=sorted(MODELS), metavar="NAME")
    parser.add_argument("--out", required=True, help="folder for the .onnx files")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    for name in arguments.names:
        source, quantize = MODELS[name]
        with tempfile.TemporaryDirectory() as folder:
            plain, integer = pathlib.Path(folder) / "plain.onnx", pathlib.Path(folder) / "int.onnx"
            skeleton.restore_file(SKELETONS / f"{source}.skeleton", plain)
            quantize(plain, integer, arguments.seed)
            model = onnx.load(str(integer))
        export_common.finish(model, pathlib.Path(arguments.out) / f"{name}.onnx")
    return 0


if __name__ == "__main__":
    sys.exit(main())
