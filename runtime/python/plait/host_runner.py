"""Runs the nodes that plait lacks in onnxruntime, between the parts of a model that it plans.

onnxruntime is imported when a model has such nodes, and only then."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from plait import _library
from plait.node_arg import ELEMENT_OF_DTYPE, ELEMENT_OF_TYPE, Array, array_of_tensor


class HostRunner:
    """What a session calls for such nodes: a plait_host_runner, which has to outlive the session.
    `options`: an onnxruntime.SessionOptions, or None for as many threads as the session has."""

    def __init__(self, options: Any = None) -> None:
        self._options = options
        self._segments: dict[int, _Segment] = {}
        self._last = 0
        self._error = ctypes.create_string_buffer(0)
        self.struct = _library.HostRunner(
            struct_size=ctypes.sizeof(_library.HostRunner), context=None,
            load=_library.HostLoad(self._load), run=_library.HostRun(self._run),
            unload=_library.HostUnload(self._unload))

    def _load(self, _context: Any, model: int, size: int, threads: int, outputs: Any,
              output_count: int, segment: Any) -> int | None:
        # Nothing may be raised into the library: it gets a text.
        try:
            loaded = _Segment(ctypes.string_at(model, size), threads, self._options)
            for index in range(output_count):
                outputs[index].element_type = loaded.element_types[index]
        except Exception as error:
            return self._failed(error)
        self._last += 1  # not 0, which would be NULL
        self._segments[self._last] = loaded
        segment[0] = self._last
        return None

    def _run(self, _context: Any, segment: int, inputs: Any, input_count: int, outputs: Any,
             output_count: int) -> int | None:
        try:
            self._segments[segment].run(inputs[:input_count], outputs, output_count)
        except Exception as error:
            return self._failed(error)
        return None

    def _unload(self, _context: Any, segment: int) -> None:
        self._segments.pop(segment, None)

    def _failed(self, error: Exception) -> int | None:
        """The address of a line that says what is wrong."""
        text = " ".join(str(error).split()) or type(error).__name__
        self._error = ctypes.create_string_buffer(text.encode())
        return ctypes.addressof(self._error)


class _Segment:
    """Some nodes, in onnxruntime."""

    def __init__(self, model: bytes, threads: int, options: Any) -> None:
        try:
            import onnxruntime
        except ImportError as error:
            raise RuntimeError("onnxruntime would run them, and is not installed "
                               "(pip install 'plait[onnxruntime]')") from error
        if options is None:
            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = threads
            options.inter_op_num_threads = 1
            # Threads that wait for work would take the processors from plait's.
            options.add_session_config_entry("session.intra_op.allow_spinning", "0")
            options.log_severity_level = 3
        self._session = onnxruntime.InferenceSession(model, options,
                                                     providers=["CPUExecutionProvider"])
        self._names = [arg.name for arg in self._session.get_inputs()]
        self.element_types = [ELEMENT_OF_TYPE.get(arg.type, 0)
                              for arg in self._session.get_outputs()]
        # Of the last run: the library reads them until the next one.
        self._results: list[Array] = []
        self._dims: list[Any] = []

    def run(self, inputs: list[Any], outputs: Any, output_count: int) -> None:
        feed = {name: array_of_tensor(tensor, None) for name, tensor in zip(self._names, inputs)}
        results = [np.asarray(result) for result in self._session.run(None, feed)]
        self._results = [result if result.flags.c_contiguous else result.copy(order="C")
                         for result in results]
        self._dims = [(ctypes.c_int64 * max(1, result.ndim))(*result.shape) for result in results]
        for index in range(output_count):
            result, tensor = self._results[index], outputs[index]
            tensor.element_type = ELEMENT_OF_DTYPE.get(result.dtype, 0)
            tensor.rank = result.ndim
            tensor.dims = self._dims[index]
            tensor.data = result.__array_interface__["data"][0]
            tensor.byte_size = result.nbytes
