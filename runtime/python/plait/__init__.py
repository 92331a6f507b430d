"""Makes ONNX models run faster, and runs them.

    result = plait.optimize("model.onnx", "model.opt.onnx")       as `plait optimize` does
    session = plait.InferenceSession("model.opt.onnx")            with onnxruntime's method names
    with plait.Client("plait.example.com:7400") as client: ...    needs plait[client]

A name is loaded when it is used first: `python -m plait` and plait.optimize need no numpy, and
nothing but plait.Client needs grpcio."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from plait.errors import *  # noqa: F403
from plait.errors import __all__ as _errors

if TYPE_CHECKING:
    from plait._library import version

    from plait.io_binding import IOBinding as IOBinding
    from plait.io_binding import Value as Value
    from plait.node_arg import NodeArg as NodeArg
    from plait.session import InferenceSession as InferenceSession

    __version__ = version()

# Name -> the module that it lies in.
_HOMES = {"InferenceSession": "session", "IOBinding": "io_binding", "Value": "io_binding",
          "NodeArg": "node_arg"}

__all__ = [*_HOMES, *_errors, "__version__"]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        found = importlib.import_module("plait._library").version()
    elif name in _HOMES:
        found = getattr(importlib.import_module(f"plait.{_HOMES[name]}"), name)
    else:
        raise AttributeError(f"module 'plait' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
