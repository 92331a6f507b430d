"""libplait_runtime through ctypes; plait/runtime.h says what everything means."""

import ctypes
import pathlib

PLAN_EMBEDDED = 1


class Error(RuntimeError):
    """What libplait_runtime says; `code` is a plait_error_code."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


class Tensor(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("element_type", ctypes.c_int32),
                ("memory_kind", ctypes.c_int32), ("rank", ctypes.c_size_t),
                ("dims", ctypes.POINTER(ctypes.c_int64)), ("data", ctypes.c_void_p),
                ("byte_size", ctypes.c_size_t)]


class InputShape(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("name", ctypes.c_char_p),
                ("dims", ctypes.POINTER(ctypes.c_int64)), ("rank", ctypes.c_size_t)]


class Options(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("device", ctypes.c_char_p),
                ("input_shapes", ctypes.POINTER(InputShape)),
                ("input_shape_count", ctypes.c_size_t), ("threads", ctypes.c_int32),
                ("pin_threads", ctypes.c_int32), ("ignore_plan", ctypes.c_int32),
                ("require_plan", ctypes.c_int32)]


class PlanInfo(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("source", ctypes.c_int32),
                ("reason", ctypes.c_int32), ("explanation", ctypes.c_char_p),
                ("threads", ctypes.c_int32), ("kernels", ctypes.c_int32),
                ("streams", ctypes.c_int32), ("reference_nodes", ctypes.c_int32)]


def _load():
    # In a wheel beside this file, else wherever the system finds libraries.
    beside = pathlib.Path(__file__).parent / "lib" / "libplait_runtime.so.0"
    library = ctypes.CDLL(str(beside) if beside.exists() else "libplait_runtime.so.0")
    pointer, size, text = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p
    # Of those that return an error: what they take.
    for name, parameters in {
        "create_from_file": [text, ctypes.POINTER(Options), ctypes.POINTER(pointer)],
        "create_from_memory": [text, size, ctypes.POINTER(Options), ctypes.POINTER(pointer)],
        "describe_input": [pointer, size, ctypes.POINTER(Tensor)],
        "describe_output": [pointer, size, ctypes.POINTER(Tensor)],
        "run": [pointer, ctypes.POINTER(Tensor), size, ctypes.POINTER(Tensor), size],
        "get_plan": [pointer, ctypes.POINTER(PlanInfo)],
    }.items():
        function = getattr(library, f"plait_session_{name}")
        function.restype, function.argtypes = pointer, parameters
        function.errcheck = _raise
    for name, result, parameters in [
        ("plait_version", text, []),
        ("plait_error_get_code", ctypes.c_int32, [pointer]),
        ("plait_error_message", text, [pointer]),
        ("plait_error_destroy", None, [pointer]),
        ("plait_session_destroy", None, [pointer]),
        ("plait_session_input_count", size, [pointer]),
        ("plait_session_output_count", size, [pointer]),
        ("plait_session_input_name", text, [pointer, size]),
        ("plait_session_output_name", text, [pointer, size]),
    ]:
        function = getattr(library, name)
        function.restype, function.argtypes = result, parameters
    return library


def _raise(error, _function, _arguments):
    if not error:
        return
    code = _LIBRARY.plait_error_get_code(error)
    message = _LIBRARY.plait_error_message(error).decode()
    _LIBRARY.plait_error_destroy(error)
    raise Error(code, message)


_LIBRARY = _load()


def version():
    return _LIBRARY.plait_version().decode()


def input_shapes(shapes):
    """An array of InputShape, which keeps what it points to."""
    array = (InputShape * len(shapes))()
    for element, (name, dims) in zip(array, shapes.items()):
        element.struct_size = ctypes.sizeof(InputShape)
        element.name = name.encode()
        element.dims = (ctypes.c_int64 * len(dims))(*dims)
        element.rank = len(dims)
    return array


def create_from_file(path, options):
    handle = ctypes.c_void_p()
    _LIBRARY.plait_session_create_from_file(path.encode(), ctypes.byref(options),
                                            ctypes.byref(handle))
    return Handle(handle)


def create_from_memory(model, options):
    handle = ctypes.c_void_p()
    _LIBRARY.plait_session_create_from_memory(model, len(model), ctypes.byref(options),
                                              ctypes.byref(handle))
    return Handle(handle)


class Handle:
    """A plait_session, destroyed with this object."""

    def __init__(self, handle):
        self._handle = handle
        # When the interpreter ends, the module's names may be gone before this object.
        self._destroy = _LIBRARY.plait_session_destroy
        self._described = {kind: [tensor for _, tensor in self.tensors(kind)]
                           for kind in ("input", "output")}

    def __del__(self):
        self._destroy(self._handle)

    def tensors(self, kind):
        """Name and description of each input, or of each output."""
        found = []
        for index in range(getattr(_LIBRARY, f"plait_session_{kind}_count")(self._handle)):
            tensor = Tensor(struct_size=ctypes.sizeof(Tensor))
            getattr(_LIBRARY, f"plait_session_describe_{kind}")(self._handle, index,
                                                                ctypes.byref(tensor))
            name = getattr(_LIBRARY, f"plait_session_{kind}_name")(self._handle, index)
            found.append((name.decode(), tensor))
        return found

    def plan(self):
        info = PlanInfo(struct_size=ctypes.sizeof(PlanInfo))
        _LIBRARY.plait_session_get_plan(self._handle, ctypes.byref(info))
        return info

    def run(self, inputs, outputs):
        """Numpy arrays without gaps, of the session's types and shapes."""
        given = [self._arrays(kind, arrays) for kind, arrays in [("input", inputs),
                                                                 ("output", outputs)]]
        _LIBRARY.plait_session_run(self._handle, given[0], len(inputs), given[1], len(outputs))

    def _arrays(self, kind, arrays):
        tensors = (Tensor * len(arrays))()
        for index, array in enumerate(arrays):
            tensors[index] = self._described[kind][index]
            tensors[index].data = array.ctypes.data
        return tensors
