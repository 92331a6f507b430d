"""Runs ONNX models by the plans that plait has put into them, with onnxruntime's method names."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from plait import _library
from plait.errors import InvalidRequestError
from plait.host_runner import HostRunner
from plait.io_binding import IOBinding
from plait.node_arg import Array, NodeArg, array_of_tensor


class InferenceSession:
    """A model that is loaded on a device.

        session = plait.InferenceSession("model.onnx")
        scores, = session.run(None, {"input": image})

    May be used from several threads; runs take turns, and other Python threads go on meanwhile."""

    def __init__(self, path_or_bytes: str | os.PathLike[str] | bytes | bytearray | memoryview, *,
                 device: str = "cpu", threads: int = 0,
                 input_shapes: Mapping[str, Sequence[int]] | None = None,
                 pin_threads: bool = False, ignore_plan: bool = False, require_plan: bool = False,
                 providers: Sequence[Any] | None = None, host_options: Any = None) -> None:
        """`path_or_bytes`: a path, or a serialized ModelProto. `threads`: of a run, at most: of
        more than the process may keep busy it takes those, and `plan` says so; 0: as many as the
        plan inside the model is for. `input_shapes`: name to shape, of inputs whose model leaves
        dimensions open. `pin_threads`: threads stay on a processor each, for a program that has
        the machine to itself. `ignore_plan`, `require_plan`: the plan inside the model is not
        used; without it there is an error. `providers`: onnxruntime's; plait stands for
        "CPUExecutionProvider", which has to be among them. `host_options`: an
        onnxruntime.SessionOptions for the nodes that plait lacks, which run in onnxruntime
        (pip install 'plait[onnxruntime]'), such as one that knows a library of custom operators;
        without one they run on as many threads as the session.

        Raises plait.Error: NotFoundError, PermissionDeniedError, InvalidRequestError (a malformed
        model, a dimension that nothing gives), UnsupportedError, LimitExceededError, ForkedError.
        """
        names = [p if isinstance(p, str) else p[0] for p in providers or ["CPUExecutionProvider"]]
        if "CPUExecutionProvider" not in names:
            raise ValueError(f"providers: plait runs on the processor, and not as {names}")
        shapes = _library.input_shapes(input_shapes or {})
        runner = HostRunner(host_options)
        options = _library.Options(
            struct_size=ctypes.sizeof(_library.Options), device=device.encode(),
            input_shapes=shapes, input_shape_count=len(shapes), threads=threads,
            pin_threads=pin_threads, ignore_plan=ignore_plan, require_plan=require_plan,
            host_runner=ctypes.pointer(runner.struct))
        if isinstance(path_or_bytes, (bytes, bytearray, memoryview)):
            self._handle = _library.create_from_memory(bytes(path_or_bytes), options, runner)
        else:
            self._handle = _library.create_from_file(os.fspath(path_or_bytes), options, runner)
        handle = self._handle
        self._inputs = [NodeArg(*each) for each in zip(handle.input_names, handle.inputs)]
        self._outputs = [NodeArg(*each) for each in zip(handle.output_names, handle.outputs)]
        self._input_names = frozenset(handle.input_names)
        # Held from a run until outputs are read that lie in the session, if there are some.
        self._has_open = any(arg.is_open for arg in self._outputs)
        self._lock = threading.Lock()

    def get_inputs(self) -> list[NodeArg]:
        """In the model's order."""
        return list(self._inputs)

    def get_outputs(self) -> list[NodeArg]:
        """In the model's order."""
        return list(self._outputs)

    def get_providers(self) -> list[str]:
        """What onnxruntime calls the device that a session runs on."""
        return ["CPUExecutionProvider"]

    @property
    def plan(self) -> str:
        """Which plan the session runs and why, as a sentence."""
        told = str(self._handle.plan().explanation.decode())
        return told.replace("the program's host runner", "onnxruntime")

    @property
    def uses_embedded_plan(self) -> bool:
        """Whether that is the plan which `plait optimize` has put into the model."""
        return bool(self._handle.plan().source == _library.PLAN_EMBEDDED)

    @property
    def host_nodes(self) -> int:
        """How many of the model's nodes run in onnxruntime, or one by one, because no plan is for
        them; `plan` names their operators."""
        return int(self._handle.plan().host_nodes)

    @property
    def reference_nodes(self) -> int:
        """How many of the model's nodes run as plait's slow reference code, because it has no
        kernel for their types (float64) or forms; `plan` names their operators."""
        return int(self._handle.plan().reference_nodes)

    def run(self, output_names: Sequence[str | NodeArg] | None, input_feed: Mapping[str, Any],
            run_options: Any = None) -> list[Array]:
        """The outputs of those names (None: all) as new arrays, for a dict of all inputs. An input
        of the model's type without gaps is read where it lies, as numpy array or as anything else
        that has `__dlpack__`, such as a torch tensor. Where the model leaves dimensions open they
        may be of any size: the first run of a shape loads the model for it. Raises ValueError for a
        name that the model has not, and for another type or shape."""
        del run_options  # there are none so far
        if not self._input_names.issuperset(input_feed):
            unknown = next(name for name in input_feed if name not in self._input_names)
            raise ValueError(f"the model has no input {unknown!r}; it has "
                             f"{[arg.name for arg in self._inputs]}")
        wanted = self._indices(output_names)
        inputs = _library.Tensors(self._handle.inputs)
        outputs = _library.Tensors(self._handle.outputs)
        kept = []  # what the addresses point to
        for index, arg in enumerate(self._inputs):
            if arg.name not in input_feed:
                raise ValueError(f"input {arg.name!r} is missing")
            kept.append(arg.array_of(input_feed[arg.name], any_shape=True))
            inputs.point(index, kept[-1])
        if not all(arg.has_shape_of(array) for arg, array in zip(self._inputs, kept)):
            return self._run_shapes(wanted, kept)
        # Those that nobody wants stay where they are.
        results = {index: self._outputs[index].new_array() for index in wanted
                   if not self._outputs[index].is_open}
        for index, array in results.items():
            outputs.point(index, array)
        return self._finished(wanted, inputs, outputs, results)

    def _finished(self, wanted: Sequence[int], inputs: _library.Tensors, outputs: _library.Tensors,
                  results: dict[int, Array]) -> list[Array]:
        """Runs the model, and adds copies of those outputs whose shape only a run tells."""
        if not self._has_open:
            self._handle.run(inputs, outputs)
            return [results[index] for index in wanted]
        with self._lock:
            self._handle.run(inputs, outputs)
            for index in wanted:
                if self._outputs[index].is_open:
                    tensor = self._handle.last_output(index)
                    results[index] = array_of_tensor(tensor, self._handle).copy()
        return [results[index] for index in wanted]

    def _run_shapes(self, wanted: Sequence[int], arrays: list[Array]) -> list[Array]:
        """Runs the model on inputs of other shapes than the session was created for."""
        inputs = _library.Tensors(self._handle.inputs)
        outputs = _library.Tensors(self._handle.outputs)
        for index, array in enumerate(arrays):
            inputs.describe(index, array)
        try:
            shapes = self._handle.output_shapes(inputs)
            results = {index: np.empty(shapes[index], arg.dtype)
                       for index, arg in enumerate(self._outputs) if not arg.is_open}
            for index, array in results.items():
                outputs.describe(index, array)
            return self._finished(wanted, inputs, outputs, results)
        except InvalidRequestError as error:
            raise ValueError(str(error)) from error

    def _indices(self, output_names: Sequence[str | NodeArg] | None) -> Sequence[int]:
        if output_names is None:
            return range(len(self._outputs))
        names = [arg.name for arg in self._outputs]
        wanted = [name.name if isinstance(name, NodeArg) else name for name in output_names]
        missing = [name for name in wanted if name not in names]
        if missing:
            raise ValueError(f"the model has no output {missing[0]!r}; it has {names}")
        return [names.index(name) for name in wanted]

    def io_binding(self) -> IOBinding:
        """A new binding, of which a session may have several."""
        return IOBinding(self)

    def run_with_iobinding(self, iobinding: IOBinding, run_options: Any = None) -> None:
        """Runs the model on the buffers of a binding. Raises ValueError for an input that is not
        bound."""
        del run_options  # there are none so far
        inputs, outputs = iobinding._inputs, iobinding._outputs
        if inputs.unbound:
            raise ValueError(f"input {inputs.unbound[0]!r} is not bound")
        if not self._has_open:
            self._handle.run(inputs.tensors, outputs.tensors)
            return
        # A run takes away what another thread's `run` is about to copy.
        with self._lock:
            self._handle.run(inputs.tensors, outputs.tensors)

    def input_buffer(self, name: str) -> Array:
        """The session's own buffer of an input, which the model reads in place: bound, it is not
        copied. There is one per session: threads that use it have to agree among themselves."""
        return self._buffer(self._inputs, self._handle.inputs, name)

    def output_buffer(self, name: str) -> Array:
        """The session's own buffer of an output, good until its next run."""
        return self._buffer(self._outputs, self._handle.outputs, name)

    def _buffer(self, args: list[NodeArg], tensors: Any, name: str) -> Array:
        for arg, tensor in zip(args, tensors):
            if arg.name == name and arg.is_open:
                raise ValueError(f"{name!r}: only a run tells its shape, so it has no buffer")
            if arg.name == name:
                return arg.array_at(tensor.data, self._handle)
        raise ValueError(f"the model has no {name!r}; it has {[arg.name for arg in args]}")
