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

TOKENS_OF_BERT = 128
TOKENS_OF_GPT2 = 64
SAMPLES_OF_SOUND = 16000
TORCHSCRIPT_OPSET = 17
DYNAMO_OPSET = 20

# These two use operators that the TorchScript exporter cannot write.
DYNAMO_ONLY = {"vit_b_16", "gpt2"}


def vision_model(name, side=224, **options):
    """Returns (model, inputs, input names, output names) of a torchvision classifier."""
    import torchvision
    model = getattr(torchvision.models, name)(weights=None, **options)
    return model, (torch.rand(1, 3, side, side) * 2 - 1,), ["input"], ["output"]


def inception_v3():
    # The auxiliary head exists for training only; transform_input would add a fixed rescaling.
    return vision_model("inception_v3", side=299, init_weights=True, transform_input=False)


def over_tokens(encoder):
    """Returns an encoder over a masked text, without a pooler: what follows differs by task."""
    ids = torch.randint(0, 100, (1, TOKENS_OF_BERT))
    mask = torch.ones(1, TOKENS_OF_BERT, dtype=torch.int64)
    wrapped = HiddenState(encoder, "input_ids", "attention_mask")
    return wrapped, (ids, mask), ["input_ids", "attention_mask"], ["last_hidden_state"]


def bert(**sizes):
    """Returns a BERT encoder; the eager attention is the one whose operators export as such."""
    import transformers
    config = transformers.BertConfig(attn_implementation="eager", **sizes)
    return over_tokens(transformers.BertModel(config, add_pooling_layer=False))


def bert_large():
    return bert(hidden_size=1024, num_hidden_layers=24, num_attention_heads=16,
                intermediate_size=4096)


def gpt2():
    """Returns the GPT-2 decoder without a language head, over a full window and no cache."""
    import transformers
    model = transformers.GPT2Model(
        transformers.GPT2Config(attn_implementation="eager", use_cache=False))
    ids = torch.randint(0, 100, (1, TOKENS_OF_GPT2))
    return HiddenState(model, "input_ids"), (ids,), ["input_ids"], ["last_hidden_state"]


def albert():
    """Returns an ALBERT encoder: twelve layers that share the weights of one."""
    import transformers
    config = transformers.AlbertConfig(
        attn_implementation="eager", hidden_size=768, num_attention_heads=12,
        intermediate_size=3072)
    return over_tokens(transformers.AlbertModel(config, add_pooling_layer=False))


def wav2vec2():
    """Returns the encoder of a speech model over a second of sound."""
    import transformers
    model = transformers.Wav2Vec2Model(
        transformers.Wav2Vec2Config(attn_implementation="eager", apply_spec_augment=False))
    sound = torch.rand(1, SAMPLES_OF_SOUND) * 2 - 1
    return HiddenState(model, "input_values"), (sound,), ["input_values"], ["last_hidden_state"]


def segformer_b0():
    """Returns a segmentation network; its logits have a quarter of the image's side."""
    import transformers
    config = transformers.SegformerConfig(attn_implementation="eager", num_labels=150)
    model = Logits(transformers.SegformerForSemanticSegmentation(config), "pixel_values")
    return model, (torch.rand(1, 3, 256, 256) * 2 - 1,), ["input"], ["output"]


class HiddenState(torch.nn.Module):
    """Calls a transformers model by keyword and returns a plain tensor instead of its record."""

    def __init__(self, model, *inputs):
        super().__init__()
        self.model = model
        self.inputs = inputs

    def forward(self, first, second=None):
        return self.model(**dict(zip(self.inputs, (first, second)))).last_hidden_state


class Logits(HiddenState):
    """The same for models that have a head."""

    def forward(self, first, second=None):
        return self.model(**dict(zip(self.inputs, (first, second)))).logits


MODELS = {
    "resnet50": lambda: vision_model("resnet50"),
    "resnext50": lambda: vision_model("resnext50_32x4d"),
    "inception_v3": inception_v3,
    "mobilenet_v2": lambda: vision_model("mobilenet_v2"),
    "efficientnet_b0": lambda: vision_model("efficientnet_b0"),
    "densenet121": lambda: vision_model("densenet121"),
    "squeezenet": lambda: vision_model("squeezenet1_1"),
    "vit_b_16": lambda: vision_model("vit_b_16"),
    "bert_base": bert,
    "bert_large": bert_large,
    "gpt2": gpt2,
    "albert": albert,
    "convnext_tiny": lambda: vision_model("convnext_tiny"),
    "regnet_y_1_6gf": lambda: vision_model("regnet_y_1_6gf"),
    "segformer_b0": segformer_b0,
    "swin_t": lambda: vision_model("swin_t"),
    "wav2vec2": wav2vec2,
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
    norms = [module for module in model.modules() if isinstance(module, torch.nn.BatchNorm2d)]
    if not norms:
        return
    for norm in norms:
        norm.momentum = 1.0
        norm.train()
    batch = [torch.rand(4, *tensor.shape[1:]) * 2 - 1 for tensor in inputs]
    with torch.no_grad():
        model(*batch)
    model.eval()


def to_onnx(model, inputs, input_names, output_names, dynamo):
    """Returns the exported ModelProto with static shapes."""
    if dynamo:
        program = torch.onnx.export(
            model, inputs, dynamo=True, opset_version=DYNAMO_OPSET, input_names=input_names,
            output_names=output_names, verbose=False)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "model.onnx"
            program.save(str(path), external_data=True)
            return onnx.load(str(path))
    buffer = io.BytesIO()
    torch.onnx.export(
        model, inputs, buffer, dynamo=False, opset_version=TORCHSCRIPT_OPSET,
        input_names=input_names, output_names=output_names)
    return onnx.load_from_string(buffer.getvalue())


def export(name, style, seed, folder):
    """Builds one model, re-draws what would be dead, and writes it."""
    torch.manual_seed(seed)
    model, inputs, input_names, output_names = MODELS[name]()
    model.eval()
    redraw_constants(model)
    settle_batch_norms(model, inputs)
    dynamo = style == "dynamo" or name in DYNAMO_ONLY
    with torch.no_grad():
        proto = to_onnx(model, inputs, input_names, output_names, dynamo)
    suffix = ".dynamo.onnx" if style == "dynamo" else ".onnx"
    export_common.finish(proto, pathlib.Path(folder) / (name + suffix))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="+", choices=sorted(MODELS), metavar="NAME")
    parser.add_argument("--out", required=True, help="folder for the .onnx files")
    parser.add_argument("--style", choices=["torchscript", "dynamo"], default="torchscript")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(2)
    for name in arguments.names:
        export(name, arguments.style, arguments.seed, arguments.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
