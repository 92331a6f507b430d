"""Runs ONNX models by the plans that plait has put into them, with onnxruntime's method names.

    session = plait.InferenceSession("model.onnx")
    scores, = session.run(None, {"input": image})
"""

import ctypes
import os

import numpy as np

from plait import _library
from plait._library import Error

__all__ = ["Error", "InferenceSession", "NodeArg", "__version__"]

__version__ = _library.version()

# ONNX's number of an element type -> numpy's type and onnxruntime's name.
_ELEMENTS = {
    1: (np.float32, "float"), 2: (np.uint8, "uint8"), 3: (np.int8, "int8"),
    4: (np.uint16, "uint16"), 5: (np.int16, "int16"), 6: (np.int32, "int32"),
    7: (np.int64, "int64"), 9: (np.bool_, "bool"), 10: (np.float16, "float16"),
    11: (np.float64, "double"), 12: (np.uint32, "uint32"), 13: (np.uint64, "uint64"),
    # numpy has no bfloat16: its bits.
    16: (np.uint16, "bfloat16"),
}


class NodeArg:
    """An input or output: its name, its shape as a list, and its type such as "tensor(float)"."""

    def __init__(self, name, tensor):
        self.name = name
        self.shape = tensor.dims[: tensor.rank]
        self.dtype, element = _ELEMENTS[tensor.element_type]
        self.type = f"tensor({element})"

    def __repr__(self):
        return f"NodeArg(name={self.name!r}, type={self.type!r}, shape={self.shape})"


class InferenceSession:
    """A model that is loaded on a device. May be used from several threads; runs take turns, and
    other Python threads go on meanwhile."""

    def __init__(self, path_or_bytes, *, device="cpu", threads=0, input_shapes=None,
                 pin_threads=False, ignore_plan=False, require_plan=False):
        """`path_or_bytes`: a path, or a serialized ModelProto. `threads`: of a run; 0: as many as
        the plan inside the model is for. `input_shapes`: name to shape, of inputs whose model
        leaves dimensions open. Raises plait.Error."""
        shapes = _library.input_shapes(input_shapes or {})
        options = _library.Options(
            struct_size=ctypes.sizeof(_library.Options), device=device.encode(),
            input_shapes=shapes, input_shape_count=len(shapes), threads=threads,
            pin_threads=pin_threads, ignore_plan=ignore_plan, require_plan=require_plan)
        if isinstance(path_or_bytes, (bytes, bytearray, memoryview)):
            self._handle = _library.create_from_memory(bytes(path_or_bytes), options)
        else:
            self._handle = _library.create_from_file(os.fspath(path_or_bytes), options)
        self._inputs = self._handle.tensors("input")
        self._outputs = self._handle.tensors("output")
        self._input_args = [NodeArg(name, tensor) for name, tensor in self._inputs]
        self._output_args = [NodeArg(name, tensor) for name, tensor in self._outputs]

    def get_inputs(self):
        return list(self._input_args)

    def get_outputs(self):
        return list(self._output_args)

    @property
    def plan(self):
        """Which plan the session runs and why, as a sentence."""
        return self._handle.plan().explanation.decode()

    @property
    def uses_embedded_plan(self):
        return self._handle.plan().source == _library.PLAN_EMBEDDED

    def run(self, output_names, input_feed, run_options=None):
        """The outputs of those names (None: all) as new arrays, for a dict of all inputs. An input
        that is an array of the model's type, without gaps, is read where it lies. Raises
        plait.Error, and ValueError for a name that the model has not."""
        del run_options  # there are none so far
        unknown = set(input_feed) - {arg.name for arg in self._input_args}
        if unknown:
            raise ValueError(f"the model has no input {sorted(unknown)[0]!r}; "
                             f"inputs are {[arg.name for arg in self._input_args]}")
        arrays = [self._input_array(arg, input_feed) for arg in self._input_args]
        results = [np.empty(arg.shape, arg.dtype) for arg in self._output_args]
        self._handle.run(arrays, results)
        if output_names is None:
            return results
        by_name = {arg.name: result for arg, result in zip(self._output_args, results)}
        missing = [name for name in output_names if name not in by_name]
        if missing:
            raise ValueError(f"the model has no output {missing[0]!r}; outputs are {list(by_name)}")
        return [by_name[name] for name in output_names]

    @staticmethod
    def _input_array(arg, feed):
        if arg.name not in feed:
            raise ValueError(f"input {arg.name!r} is missing")
        array = np.asarray(feed[arg.name])
        # As onnxruntime does: a wrong type is a mistake, and no wish to convert.
        if array.dtype != arg.dtype or list(array.shape) != arg.shape:
            raise ValueError(f"input {arg.name!r} must be {np.dtype(arg.dtype)}{arg.shape}, "
                             f"is {array.dtype}{list(array.shape)}")
        # Not np.ascontiguousarray, which makes an array of a scalar.
        return array if array.flags.c_contiguous else array.copy(order="C")
