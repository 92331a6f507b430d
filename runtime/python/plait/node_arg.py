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


# The other way round, but for bfloat16, which numpy has not.
ELEMENT_OF_TYPE = {f"tensor({element})": number for number, (_, element) in _ELEMENTS.items()
                   if element != "bfloat16"}
ELEMENT_OF_DTYPE = {np.dtype(_ELEMENTS[number][0]): number for number in ELEMENT_OF_TYPE.values()}


class NodeArg:
    """An input or output: its `name`, its `shape` as a list, its `type` such as "tensor(float)",
    and numpy's `dtype`. `is_open`: an output whose shape only a run tells; its dimensions are None
    where they are not known, and its shape is empty where not even their number is."""

    def __init__(self, name: str, tensor: _library.Tensor) -> None:
        self.name = name
        dims = tensor.dims[: tensor.rank]
        self.shape: list[Any] = [None if dim < 0 else dim for dim in dims]
        self.is_open = tensor.byte_size == 0 and (not dims or None in self.shape)
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
        return _array_at(address, self._shape, self.dtype, owner)


def array_of_tensor(tensor: _library.Tensor, owner: object) -> Array:
    """The array that a tensor describes, where it lies; it keeps `owner` alive."""
    dtype = np.dtype(_ELEMENTS[tensor.element_type][0])
    return _array_at(tensor.data, tuple(tensor.dims[: tensor.rank]), dtype, owner)


def _array_at(address: int, shape: tuple[int, ...], dtype: np.dtype[Any], owner: object) -> Array:
    if 0 in shape:
        return np.empty(shape, dtype)
    return np.asarray(_Memory(address, shape, dtype, owner))


class _Memory:
    """What numpy takes an array from without copying it."""

    def __init__(self, address: int, shape: tuple[int, ...], dtype: np.dtype[Any],
                 owner: object) -> None:
        self._owner = owner
        self.__array_interface__ = {"version": 3, "data": (address, False), "shape": shape,
                                    "typestr": dtype.str}
