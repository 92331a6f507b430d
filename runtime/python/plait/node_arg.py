"""Inputs and outputs of a session, and values for them."""

from __future__ import annotations

from typing import Any

import numpy as np

from plait import _library

# ONNX's number of an element type -> numpy's type and onnxruntime's name.
_ELEMENTS: dict[int, tuple[Any, str]] = {
    1: (np.float32, "float"), 2: (np.uint8, "uint8"), 3: (np.int8, "int8"),
    4: (np.uint16, "uint16"), 5: (np.int16, "int16"), 6: (np.int32, "int32"),
    7: (np.int64, "int64"), 9: (np.bool_, "bool"), 10: (np.float16, "float16"),
    11: (np.float64, "double"), 12: (np.uint32, "uint32"), 13: (np.uint64, "uint64"),
    # numpy has no bfloat16: its bits.
    16: (np.uint16, "bfloat16"),
}

Array = np.ndarray[Any, Any]


class NodeArg:
    """An input or output: its `name`, its `shape` as a list, its `type` such as "tensor(float)",
    and numpy's `dtype`."""

    def __init__(self, name: str, tensor: _library.Tensor) -> None:
        self.name = name
        self.shape: list[int] = tensor.dims[: tensor.rank]
        element_type, element = _ELEMENTS[tensor.element_type]
        self.dtype: np.dtype[Any] = np.dtype(element_type)
        self.type = f"tensor({element})"
        self._shape = tuple(self.shape)

    def __repr__(self) -> str:
        return f"NodeArg(name={self.name!r}, type={self.type!r}, shape={self.shape})"

    def new_array(self) -> Array:
        return np.empty(self._shape, self.dtype)

    def has_shape_of(self, array: Array) -> bool:
        return bool(array.shape == self._shape)

    def check(self, array: Array, any_shape: bool = False) -> None:
        """As onnxruntime does: a wrong type is a mistake, and no wish to convert."""
        if array.dtype != self.dtype or not (any_shape or self.has_shape_of(array)):
            raise ValueError(f"{self.name!r} must be {self.dtype}{self.shape}, "
                             f"is {array.dtype}{list(array.shape)}")

    def array_of(self, value: Any, any_shape: bool = False) -> Array:
        """The value as an array without gaps: in place where it is one, in the memory of this
        machine's processor, and offers numpy's or DLPack's protocol. Raises ValueError."""
        if isinstance(value, np.ndarray):
            array = value
        elif hasattr(value, "__dlpack__"):
            try:
                array = np.from_dlpack(value)
            except (BufferError, RuntimeError, TypeError) as error:
                raise ValueError(f"{self.name!r}: {error}") from error
        else:
            array = np.asarray(value)
        self.check(array, any_shape)
        # Not np.ascontiguousarray, which makes an array of a scalar.
        return array if array.flags.c_contiguous else array.copy(order="C")

    def array_at(self, address: int, owner: object) -> Array:
        """The array that lies at an address; it keeps `owner` alive."""
        if 0 in self._shape:
            return self.new_array()
        return np.asarray(_Memory(self, address, owner))


class _Memory:
    """What numpy takes an array from without copying it."""

    def __init__(self, arg: NodeArg, address: int, owner: object) -> None:
        self._owner = owner
        self.__array_interface__ = {"version": 3, "data": (address, False),
                                    "shape": tuple(arg.shape), "typestr": arg.dtype.str}
