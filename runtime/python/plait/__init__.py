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
    from plait.client import Client as Client
    from plait.io_binding import IOBinding as IOBinding
    from plait.io_binding import Value as Value
    from plait.node_arg import NodeArg as NodeArg
    from plait.optimizing import optimize as optimize
    from plait.options import JobOptions as JobOptions
    from plait.options import Tls as Tls
    from plait.results import Capabilities as Capabilities
    from plait.results import Device as Device
    from plait.results import Event as Event
    from plait.results import Job as Job
    from plait.results import JobError as JobError
    from plait.results import OptimizeResult as OptimizeResult
    from plait.session import InferenceSession as InferenceSession

    __version__ = version()

# The names, by the modules that they lie in.
_NAMES = {
    "client": ("Client",),
    "io_binding": ("IOBinding", "Value"),
    "node_arg": ("NodeArg",),
    "optimizing": ("optimize",),
    "options": ("JobOptions", "Tls"),
    "results": ("Capabilities", "Device", "Event", "Job", "JobError", "OptimizeResult"),
    "session": ("InferenceSession",),
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names}

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
