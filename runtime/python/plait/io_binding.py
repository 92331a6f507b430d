"""Buffers that a session's runs read and write, as onnxruntime's IOBinding has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from plait import _library
from plait.node_arg import Array, NodeArg, array_of_tensor

if TYPE_CHECKING:
    from plait.session import InferenceSession


class Value:
    """An output of a run. Where it was not bound to a buffer of the caller's it lies in the
    session's own, and is good until the session's next run."""

    def __init__(self, array: Array) -> None:
        self._array = array

    def numpy(self) -> Array:
        """The array itself, and no copy of it."""
        return self._array

    def shape(self) -> list[int]:
        """Its dimensions; empty of a single number."""
        return list(self._array.shape)

    def data_ptr(self) -> int:
        """The address of its first element."""
        return int(self._array.ctypes.data)

    def device_name(self) -> str:
        """Where it lies, by onnxruntime's names."""
        return "cpu"

    def __dlpack__(self, **options: Any) -> Any:
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        kind, number = self._array.__dlpack_device__()
        return int(kind), number


class IOBinding:
    """Says where a run of InferenceSession.run_with_iobinding finds its inputs and leaves its
    outputs. What is bound to the session's own buffers (input_buffer, output_buffer) is not copied
    at all; other inputs are copied before a run and other outputs after it. Not for several threads
    at the same time."""

    def __init__(self, session: InferenceSession) -> None:
        self._session = session
        self._inputs = _Side(session.get_inputs(), session._handle.inputs, session._handle)
        self._outputs = _Side(session.get_outputs(), session._handle.outputs, session._handle)

    def bind_cpu_input(self, name: str, arr_on_cpu: Any) -> None:
        """Runs read this array, or whatever has `__dlpack__`, where it lies: what is written into
        it later counts. One with gaps is copied now. Raises ValueError."""
        arg, index = self._inputs.find(name)
        self._inputs.bind(index, arg.array_of(arr_on_cpu))

    def bind_input(self, name: str, device_type: str, device_id: int, element_type: Any,
                   shape: Sequence[int], buffer_ptr: int) -> None:
        """Runs read the elements at an address, which the caller keeps alive: row-major, of a
        numpy type. Raises ValueError."""
        arg, index = self._inputs.find(name)
        self._inputs.bind(index, _lying_at(arg, (device_type, device_id), (element_type, shape),
                                           buffer_ptr))

    def bind_output(self, name: str, device_type: str = "cpu", device_id: int = 0,
                    element_type: Any = None, shape: Sequence[int] | None = None,
                    buffer_ptr: int | None = None) -> None:
        """Runs write the output to an address, which the caller keeps alive; without one, to the
        session's own buffer. Raises ValueError."""
        arg, index = self._outputs.find(name)
        if arg.is_open and (buffer_ptr is not None or shape is not None):
            raise ValueError(f"{name!r}: only a run tells its shape, so it cannot be bound")
        if buffer_ptr is None:
            _check_device(arg, device_type, device_id)
            self._outputs.bind(index, None)
            return
        self._outputs.bind(index, _lying_at(arg, (device_type, device_id), (element_type, shape),
                                            buffer_ptr))

    def get_outputs(self) -> list[Value]:
        """All outputs of the last run, in the model's order."""
        return [Value(array) for array in self._outputs.arrays()]

    def copy_outputs_to_cpu(self) -> list[Array]:
        """All outputs of the last run as arrays of their own, in the model's order."""
        return [array.copy() for array in self._outputs.arrays()]

    def clear_binding_inputs(self) -> None:
        """Lets go of all arrays: inputs are to be bound again."""
        self._inputs.clear()

    def clear_binding_outputs(self) -> None:
        """Lets go of all arrays: outputs are left in the session's own buffers."""
        self._outputs.clear()

    def synchronize_inputs(self) -> None:
        """Nothing: everything lies in the processor's memory."""

    def synchronize_outputs(self) -> None:
        """Nothing, as above."""


class _Side:
    """The inputs, or the outputs, of a binding."""

    def __init__(self, args: list[NodeArg], bound: Any, owner: _library.Handle) -> None:
        self._args = args
        self._own = bound
        self._owner = owner
        self.clear()

    def clear(self) -> None:
        self.tensors = _library.Tensors(self._own)
        self._bound: list[Array | None] = [None] * len(self._args)
        self.unbound = [arg.name for arg in self._args]  # in the model's order

    def find(self, name: str) -> tuple[NodeArg, int]:
        for index, arg in enumerate(self._args):
            if arg.name == name:
                return arg, index
        raise ValueError(f"the model has no {name!r}; it has {[arg.name for arg in self._args]}")

    def bind(self, index: int, array: Array | None) -> None:
        """To the session's own buffer where there is no array."""
        self._bound[index] = array
        self.tensors.array[index].data = self._own[index].data
        if array is not None and array.size > 0:
            self.tensors.point(index, array)
        self.unbound = [each.name for each, held in zip(self._args, self._bound) if held is None]

    def arrays(self) -> list[Array]:
        return [self._array(index) if array is None else array
                for index, array in enumerate(self._bound)]

    def _array(self, index: int) -> Array:
        arg = self._args[index]
        if arg.is_open:
            return array_of_tensor(self._owner.last_output(index), self._owner)
        return arg.array_at(self.tensors.array[index].data, self._owner)


def _check_device(arg: NodeArg, device_type: str, device_id: int) -> None:
    if (device_type, device_id) != ("cpu", 0):
        raise ValueError(f"{arg.name!r}: device {device_type!r} {device_id}: there is 'cpu' 0 only")


def _lying_at(arg: NodeArg, device: tuple[str, int], kind: tuple[Any, Sequence[int] | None],
              address: int) -> Array:
    """The array at an address, whose type and shape the caller has to know."""
    _check_device(arg, *device)
    element_type, shape = kind
    dtype = arg.dtype if element_type is None else np.dtype(element_type)
    dims = arg.shape if shape is None else list(shape)
    if dtype != arg.dtype or dims != arg.shape:
        raise ValueError(f"{arg.name!r} must be {arg.dtype}{arg.shape}, is {dtype}{dims}")
    return arg.array_at(address, None)
