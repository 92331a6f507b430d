"""The runtimes that a worker can drive: one file here and one line in NAMES each.

A module has
  DISTRIBUTION   the package of PyPI, whose version is the runtime's
  MODULES        what must be there to import
  TITLE          its name for people
  PRECISIONS     what it computes in, f32 or bf16, by the precision of OptimizeOptions
  settings(threads, precision)  what it runs with; the precision is one of those. The runtime is not
                 imported for it.
  Runtime        a class, made with the same:
      load(model, inputs)  makes a session of the bytes of a model; `inputs` is the first set, an
                           array by name
      names()    the outputs, in the model's order
      run()      runs it on the inputs of load
      outputs(inputs)      runs it on other inputs and returns arrays in the order of names()
  It may raise whatever it likes: that is the model's error.
"""

import importlib
import importlib.metadata
import importlib.util

NAMES = (
    "onnxruntime",
    "openvino",
    "plaitsession",
)


class Missing(Exception):
    """A runtime, or what the worker needs to drive it, is not installed."""


def module(name):
    """The module of this folder that drives the runtime; the runtime itself is not imported."""
    if name not in NAMES:
        raise Missing(f"there is no runtime {name!r} (there are: {', '.join(NAMES)})")
    return importlib.import_module(f"{__name__}.{name}")


def version(name):
    """The version that is installed, without importing it. Raises Missing."""
    found = module(name)
    for needed in (*found.MODULES, "numpy", "grpc", "google.protobuf"):
        try:
            is_there = importlib.util.find_spec(needed) is not None
        except ImportError:
            is_there = False
        if not is_there:
            package = {"grpc": "grpcio", "google.protobuf": "protobuf"}.get(needed, needed)
            raise Missing(f"the interpreter has no {needed} (pip install {package})")
    try:
        return importlib.metadata.version(found.DISTRIBUTION).split("-")[0]
    except importlib.metadata.PackageNotFoundError:
        # Built from sources, or a build for other hardware under another name.
        return "unknown"


def options(name, threads, precision):
    """The settings of a runtime, for people. Raises KeyError for another precision."""
    driven = module(name)
    computes_in = driven.PRECISIONS[precision]
    words = [f"{key}={value}" for key, value in driven.settings(threads, precision).items()]
    if precision in ("tf32", "fp16", "bf16") and computes_in != precision:
        words.append(f"computes in fp32, as it has no {precision} on processors")
    return ", ".join(words)
