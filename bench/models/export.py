#!/usr/bin/env python3
"""Exports real architectures with seeded random parameters to build/models/NAME.onnx.

Nothing is downloaded but Python packages, which go into environments of their own under build/.
Every constant parameter is re-drawn, and every file is run on two inputs before it counts as done.

Styles: torchscript (default) is opset 17, as deployed models look today; dynamo is opset 20 with
whole LayerNormalization and Gelu nodes, written to NAME.dynamo.onnx; newest is opset 23 with whole
Attention nodes, written to NAME.newest.onnx; open is torchscript with the batch and the length of
token ids left open, written to NAME.open.onnx. vit_b_16 and gpt2 exist in
the dynamo style only and are written as NAME.onnx in the default style too. nasnet_* come from
Keras and rnntc_sru is written by hand: they have one style.
"""

import argparse
import dataclasses
import os
import subprocess
import sys
import time

import environments

TORCH = ("resnet50", "resnext50", "inception_v3", "bert_base", "bert_large", "mobilenet_v2",
         "efficientnet_b0", "densenet121", "squeezenet", "vit_b_16", "gpt2")
# Models that no kernel was written for: what plait does with a stranger's.
OTHERS = (
    "albert", "convnext_tiny", "regnet_y_1_6gf", "segformer_b0", "swin_t", "wav2vec2",
    "clip_text", "conformer", "deeplabv3", "diffusion_block", "distilbert", "edsr",
    "efficientnet_v2_s", "espcn", "fcos", "gpt2_cached", "keyword_gru", "llama", "llama_cached",
    "llama_cached_long", "lraspp", "lstm_tagger", "maxvit_t", "pose", "shufflenet_v2",
    "spatial_transformer", "ssdlite", "t5_decoder", "t5_encoder", "unet", "vocoder",
    "whisper_decoder", "whisper_encoder", "yolo")
QUANTIZED = ("bert_int8", "mobilenet_v2_int8", "resnet50_int8")
KERAS = ("nasnet_large", "nasnet_mobile")
SRU = ("rnntc_sru",)
ALL = TORCH + KERAS + SRU
KNOWN = ALL + OTHERS + QUANTIZED


@dataclasses.dataclass(frozen=True)
class Exporter:
    """A script, the environment it runs in, and the models it knows."""

    script: str
    make_environment: object
    names: tuple
    has_styles: bool = False


EXPORTERS = (
    Exporter("export_torch.py", environments.torch_environment, TORCH + OTHERS, has_styles=True),
    Exporter("export_quantized.py", environments.torch_environment, QUANTIZED),
    Exporter("export_sru.py", environments.torch_environment, SRU),
    Exporter("export_keras.py", environments.keras_environment, KERAS),
)


def run_exporter(exporter, name, arguments):
    """Runs one script for one model in a process of its own and returns whether it succeeded.

    A process per model gives the memory of one model back before the next one starts.
    """
    environment = exporter.make_environment()
    environment.ensure()
    command = [str(environment.python), str(environments.HERE / exporter.script), name,
               "--out", arguments.out, "--seed", str(arguments.seed)]
    if exporter.has_styles:
        command += ["--style", arguments.style]
    began = time.monotonic()
    result = subprocess.run(command, check=False, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)
    if result.returncode != 0:
        print(f"{name}: failed\n{result.stderr[-3000:]}", file=sys.stderr, flush=True)
        return False
    print(f"{result.stdout.strip()} ({time.monotonic() - began:.0f} s)", flush=True)
    return True


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(KNOWN))
    parser.add_argument("--all", action="store_true",
                        help="export the fourteen models whose skeletons are kept")
    parser.add_argument("--style", choices=["torchscript", "dynamo", "newest", "open"],
                        default="torchscript")
    parser.add_argument("--out", default=os.path.relpath(environments.BUILD / "models"),
                        help="folder for the .onnx files (build/models)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the parameters (0)")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.names if name not in KNOWN]
    if unknown:
        parser.error(f"unknown model {unknown[0]!r}; there are {', '.join(KNOWN)}")
    if arguments.all == bool(arguments.names):
        parser.error("give either --all or the names of models")
    styled = ALL if arguments.style == "torchscript" else TORCH
    named = OTHERS + QUANTIZED if arguments.style == "torchscript" else OTHERS
    if not set(arguments.names) <= set(styled + named):
        parser.error("only models from torch have other styles than torchscript")
    arguments.names = arguments.names or list(styled)
    return arguments


def main():
    arguments = parse()
    failed = []
    try:
        for exporter in EXPORTERS:
            for name in arguments.names:
                if name in exporter.names and not run_exporter(exporter, name, arguments):
                    failed.append(name)
    except environments.EnvironmentFailure as error:
        print(f"export.py: {error}", file=sys.stderr)
        return 1
    if failed:
        print(f"export.py: not exported: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
