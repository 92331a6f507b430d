"""libplait_runtime through ctypes; plait/runtime.h says what everything means."""

from __future__ import annotations

import ctypes
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from plait.errors import error_of

PLAN_EMBEDDED = 1

# plait_error_code -> an ErrorReason.
_REASONS = {1: "INVALID_REQUEST", 2: "NOT_FOUND", 3: "PERMISSION_DENIED", 4: "UNSUPPORTED",
            5: "LIMIT_EXCEEDED", 6: "INVALID_REQUEST", 7: "FORKED"}


class Tensor(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("element_type", ctypes.c_int32),
                ("memory_kind", ctypes.c_int32), ("rank", ctypes.c_size_t),
                ("dims", ctypes.POINTER(ctypes.c_int64)), ("data", ctypes.c_void_p),
                ("byte_size", ctypes.c_size_t)]


class InputShape(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("name", ctypes.c_char_p),
                ("dims", ctypes.POINTER(ctypes.c_int64)), ("rank", ctypes.c_size_t)]


_POINTER, _SIZE = ctypes.c_void_p, ctypes.c_size_t
HostLoad = ctypes.CFUNCTYPE(_POINTER, _POINTER, _POINTER, _SIZE, ctypes.c_int32,
                            ctypes.POINTER(Tensor), _SIZE, ctypes.POINTER(_POINTER))
HostRun = ctypes.CFUNCTYPE(_POINTER, _POINTER, _POINTER, ctypes.POINTER(Tensor), _SIZE,
                           ctypes.POINTER(Tensor), _SIZE)
HostUnload = ctypes.CFUNCTYPE(None, _POINTER, _POINTER)


class HostRunner(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("context", ctypes.c_void_p),
                ("load", HostLoad), ("run", HostRun), ("unload", HostUnload)]


class Options(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("device", ctypes.c_char_p),
                ("input_shapes", ctypes.POINTER(InputShape)),
                ("input_shape_count", ctypes.c_size_t), ("threads", ctypes.c_int32),
                ("pin_threads", ctypes.c_int32), ("ignore_plan", ctypes.c_int32),
                ("require_plan", ctypes.c_int32),
                ("host_runner", ctypes.POINTER(HostRunner))]


class PlanInfo(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("source", ctypes.c_int32),
                ("reason", ctypes.c_int32), ("explanation", ctypes.c_char_p),
                ("threads", ctypes.c_int32), ("kernels", ctypes.c_int32),
                ("streams", ctypes.c_int32), ("reference_nodes", ctypes.c_int32),
                ("host_nodes", ctypes.c_int32), ("islands", ctypes.c_int32)]


def _load() -> ctypes.CDLL:
    # In a wheel beside this file, else wherever the system finds libraries.
    beside = pathlib.Path(__file__).parent / "lib" / "libplait_runtime.so.0"
    library = ctypes.CDLL(str(beside) if beside.exists() else "libplait_runtime.so.0")
    pointer, size, text = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p
    # Of those that return an error: what they take.
    for name, parameters in {
        "create_from_file": [text, ctypes.POINTER(Options), ctypes.POINTER(pointer)],
        "create_from_memory": [text, size, ctypes.POINTER(Options), ctypes.POINTER(pointer)],
        "bound_input": [pointer, size, ctypes.POINTER(Tensor)],
        "bound_output": [pointer, size, ctypes.POINTER(Tensor)],
        "last_output": [pointer, size, ctypes.POINTER(Tensor)],
        "describe_output_for": [pointer, ctypes.POINTER(Tensor), size, size,
                                ctypes.POINTER(Tensor)],
        "get_plan": [pointer, ctypes.POINTER(PlanInfo)],
    }.items():
        function = getattr(library, f"plait_session_{name}")
        function.restype, function.argtypes = pointer, parameters
        function.errcheck = _check
    others: list[tuple[str, Any, list[Any]]] = [
        ("plait_version", text, []),
        ("plait_error_get_code", ctypes.c_int32, [pointer]),
        ("plait_error_message", text, [pointer]),
        ("plait_error_destroy", None, [pointer]),
        ("plait_session_destroy", None, [pointer]),
        ("plait_session_run", pointer,
         [pointer, ctypes.POINTER(Tensor), size, ctypes.POINTER(Tensor), size]),
        ("plait_session_input_count", size, [pointer]),
        ("plait_session_output_count", size, [pointer]),
        ("plait_session_input_name", text, [pointer, size]),
        ("plait_session_output_name", text, [pointer, size]),
    ]
    for name, result, parameters in others:
        function = getattr(library, name)
        function.restype, function.argtypes = result, parameters
    return library


def _check(error: int | None, _function: object, _arguments: object) -> None:
    if error:
        _raise(error)


def _raise(error: int) -> None:
    code = _LIBRARY.plait_error_get_code(error)
    message = _LIBRARY.plait_error_message(error).decode()
    _LIBRARY.plait_error_destroy(error)
    raise error_of(_REASONS.get(code, "INTERNAL"), message)


_LIBRARY = _load()


def version() -> str:
    return str(_LIBRARY.plait_version().decode())


def input_shapes(shapes: Mapping[str, Sequence[int]]) -> ctypes.Array[InputShape]:
    """An array of InputShape, which keeps what it points to."""
    array = (InputShape * len(shapes))()
    for element, (name, dims) in zip(array, shapes.items()):
        element.struct_size = ctypes.sizeof(InputShape)
        element.name = name.encode()
        element.dims = (ctypes.c_int64 * len(dims))(*dims)
        element.rank = len(dims)
    return array


def create_from_file(path: str, options: Options, runner: object) -> Handle:
    handle = ctypes.c_void_p()
    _LIBRARY.plait_session_create_from_file(path.encode(), ctypes.byref(options),
                                            ctypes.byref(handle))
    return Handle(handle, runner)


def create_from_memory(model: bytes, options: Options, runner: object) -> Handle:
    handle = ctypes.c_void_p()
    _LIBRARY.plait_session_create_from_memory(model, len(model), ctypes.byref(options),
                                              ctypes.byref(handle))
    return Handle(handle, runner)


class Tensors:
    """The addresses of all inputs, or of all outputs, for Handle.run: at first the session's own
    buffers. What they point to must live as long as it is used."""

    def __init__(self, bound: ctypes.Array[Tensor]) -> None:
        self.array = type(bound).from_buffer_copy(bound)

    def point(self, index: int, array: np.ndarray[Any, Any]) -> None:
        """An array without gaps, of the session's type and shape, is read or written there."""
        self.array[index].data = array.__array_interface__["data"][0]

    def describe(self, index: int, array: np.ndarray[Any, Any]) -> None:
        """The same for an array of another shape."""
        tensor = self.array[index]
        tensor.rank = array.ndim
        tensor.dims = (ctypes.c_int64 * max(1, array.ndim))(*array.shape)
        tensor.byte_size = array.nbytes
        self.point(index, array)


class Handle:
    """A plait_session, destroyed with this object. Keeps `runner`, which it calls."""

    def __init__(self, handle: ctypes.c_void_p, runner: object) -> None:
        self._handle = handle
        self._runner = runner
        # When the interpreter ends, the module's names may be gone before this object.
        self._destroy = _LIBRARY.plait_session_destroy
        self._run = _LIBRARY.plait_session_run
        self.input_names, self.inputs = self._describe("input")
        self.output_names, self.outputs = self._describe("output")

    def __del__(self) -> None:
        self._destroy(self._handle)

    def _describe(self, kind: str) -> tuple[list[str], ctypes.Array[Tensor]]:
        """The names of all inputs or outputs, and the session's own buffers."""
        count = getattr(_LIBRARY, f"plait_session_{kind}_count")(self._handle)
        tensors = (Tensor * count)()
        names = []
        for index, tensor in enumerate(tensors):
            tensor.struct_size = ctypes.sizeof(Tensor)
            getattr(_LIBRARY, f"plait_session_bound_{kind}")(self._handle, index,
                                                             ctypes.byref(tensor))
            name = getattr(_LIBRARY, f"plait_session_{kind}_name")(self._handle, index)
            names.append(name.decode())
        return names, tensors

    def last_output(self, index: int) -> Tensor:
        """An output of the last run where that left it, good until the next one."""
        tensor = Tensor(struct_size=ctypes.sizeof(Tensor))
        _LIBRARY.plait_session_last_output(self._handle, index, ctypes.byref(tensor))
        return tensor

    def plan(self) -> PlanInfo:
        info = PlanInfo(struct_size=ctypes.sizeof(PlanInfo))
        _LIBRARY.plait_session_get_plan(self._handle, ctypes.byref(info))
        return info

    def output_shapes(self, inputs: Tensors) -> list[tuple[int, ...]]:
        """Of a run with inputs of these shapes, for which the model is loaded if it has to be."""
        shapes = []
        for index in range(len(self.outputs)):
            tensor = Tensor(struct_size=ctypes.sizeof(Tensor))
            _LIBRARY.plait_session_describe_output_for(
                self._handle, inputs.array, len(inputs.array), index, ctypes.byref(tensor))
            shapes.append(tuple(tensor.dims[: tensor.rank]))
        return shapes

    def run(self, inputs: Tensors, outputs: Tensors) -> None:
        """Calls the library itself: a run leaves nothing of Python in the caches, and each further
        call from here takes some ten microseconds more."""
        given, written = inputs.array, outputs.array
        error = self._run(self._handle, given, len(given), written, len(written))
        if error:
            _raise(error)
