"""Exports torchvision and transformers architectures; runs inside the torch environment.

Started by export.py, which makes that environment. Nothing is downloaded: architectures come from
the packages, parameters from a seed.
"""

import argparse
import io
import math
import pathlib
import sys
import tempfile
import warnings

import onnx
import torch

import export_common
import sequence_models
import vision_models
from vision_models import torchvision_model

TOKENS_OF_GPT2 = 64
TORCHSCRIPT_OPSET = 17
DYNAMO_OPSETS = {"dynamo": 20, "newest": 23}

# These two use operators that the TorchScript exporter cannot write.
DYNAMO_ONLY = {"vit_b_16", "gpt2"}


def inception_v3():
    # The auxiliary head exists for training only; transform_input would add a fixed rescaling.
    return torchvision_model("inception_v3", side=299, init_weights=True, transform_input=False)


def bert(**sizes):
    """Returns a BERT encoder."""
    import transformers
    model = transformers.BertModel(transformers.BertConfig(**sizes), add_pooling_layer=False)
    return sequence_models.over_tokens(model)


def bert_large():
    return bert(hidden_size=1024, num_hidden_layers=24, num_attention_heads=16,
                intermediate_size=4096)


def gpt2():
    """Returns the GPT-2 decoder without a language head, over a full window and no cache."""
    import transformers
    model = transformers.GPT2Model(transformers.GPT2Config(use_cache=False))
    model = sequence_models.HiddenState(model, "input_ids")
    ids = sequence_models.token_ids(TOKENS_OF_GPT2)
    return model, (ids,), ["input_ids"], ["last_hidden_state"]


MODELS = {
    "resnet50": lambda: torchvision_model("resnet50"),
    "resnext50": lambda: torchvision_model("resnext50_32x4d"),
    "inception_v3": inception_v3,
    "mobilenet_v2": lambda: torchvision_model("mobilenet_v2"),
    "efficientnet_b0": lambda: torchvision_model("efficientnet_b0"),
    "densenet121": lambda: torchvision_model("densenet121"),
    "squeezenet": lambda: torchvision_model("squeezenet1_1"),
    "vit_b_16": lambda: torchvision_model("vit_b_16"),
    "bert_base": bert,
    "bert_large": bert_large,
    "gpt2": gpt2,
    **vision_models.MODELS,
    **sequence_models.MODELS,
}


def redraw_constants(model):
    """Replaces every constant parameter, since zeros and ones would make outputs dead.

    Vectors of ones are scales and stay positive; everything else is drawn around its old value.
    """
    for parameter in model.parameters():
        if parameter.numel() < 2 or parameter.min() != parameter.max():
            continue
        with torch.no_grad():
            if parameter.dim() == 1 and parameter[0] == 1:
                parameter.uniform_(0.5, 1.5)
            elif parameter.dim() == 1:
                parameter.add_(torch.randn_like(parameter) * 0.1)
            else:
                fan_in = math.prod(parameter.shape[1:])
                parameter.add_(torch.randn_like(parameter) / math.sqrt(fan_in))


def settle_batch_norms(model, inputs):
    """Sets running statistics to those of one random batch, so that activations stay in range.

    Fresh statistics are 0 and 1, which would fold away to nothing; drawn ones would let the
    activations of a deep network explode or vanish.
    """
    kinds = (torch.nn.BatchNorm1d, torch.nn.BatchNorm2d)
    norms = [module for module in model.modules() if isinstance(module, kinds)]
    if not norms:
        return
    for norm in norms:
        norm.momentum = 1.0
        norm.train()
    batch = [torch.rand(4, *tensor.shape[1:]) * 2 - 1 for tensor in inputs]
    with torch.no_grad():
        model(*batch)
    model.eval()


def choose_attention(model, style):
    """Makes models of transformers spell attention out, but where one node can say it."""
    for module in model.modules():
        if hasattr(module, "set_attn_implementation"):
            module.set_attn_implementation("sdpa" if style == "newest" else "eager")


def open_axes(inputs, input_names, output_names):
    """Names for the dimensions that a caller chooses: the batch, and the length of token ids."""
    axes = {name: {0: "batch"} for name in (*input_names, *output_names)}
    for name, tensor in zip(input_names, inputs):
        if not tensor.is_floating_point():
            axes[name][1] = "length"
    return axes


def to_onnx(model, inputs, input_names, output_names, opset, axes=None):
    """Returns the exported ModelProto, by the exporter of that opset. `axes`, for TorchScript only:
    input or output to the names of its open dimensions; without it all shapes are static."""
    if opset != TORCHSCRIPT_OPSET:
        program = torch.onnx.export(
            model, inputs, dynamo=True, opset_version=opset, input_names=input_names,
            output_names=output_names, verbose=False)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "model.onnx"
            program.save(str(path), external_data=True)
            return onnx.load(str(path))
    buffer = io.BytesIO()
    torch.onnx.export(
        model, inputs, buffer, dynamo=False, opset_version=TORCHSCRIPT_OPSET,
        input_names=input_names, output_names=output_names, dynamic_axes=axes)
    return onnx.load_from_string(buffer.getvalue())


def export(name, style, seed, folder):
    """Builds one model, re-draws what would be dead, and writes it."""
    torch.manual_seed(seed)
    model, inputs, input_names, output_names = MODELS[name]()
    model.eval()
    choose_attention(model, style)
    redraw_constants(model)
    settle_batch_norms(model, inputs)
    exporter = "dynamo" if name in DYNAMO_ONLY and style == "torchscript" else style
    opset = DYNAMO_OPSETS.get(exporter, TORCHSCRIPT_OPSET)
    axes = open_axes(inputs, input_names, output_names) if style == "open" else None
    with torch.no_grad():
        proto = to_onnx(model, inputs, input_names, output_names, opset, axes)
    suffix = ".onnx" if style == "torchscript" else f".{style}.onnx"
    export_common.finish(proto, pathlib.Path(folder) / (name + suffix))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="+", choices=sorted(MODELS), metavar="NAME")
    parser.add_argument("--out", required=True, help="folder for the .onnx files")
    parser.add_argument("--style", choices=["torchscript", "open", *DYNAMO_OPSETS],
                        default="torchscript")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    if arguments.style == "open" and DYNAMO_ONLY & {*arguments.names}:
        parser.error(f"--style open: TorchScript cannot write {', '.join(sorted(DYNAMO_ONLY))}")
    warnings.filterwarnings("ignore")
    torch.set_num_threads(2)
    for name in arguments.names:
        export(name, arguments.style, arguments.seed, arguments.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
