"""Seeded inputs for any model, and the check that a model answers to them.

One convention for all tools under bench/: floats are uniform in [-1, 1), integers are token ids in
[0, 100), booleans are fair coins, and an input named attention_mask is all ones, because a random
mask would hide most of the work. Nothing is ever all zero: zeros pass every equivalence check.
"""

import numpy as np

import draws

TOKENS_BEGIN, TOKENS_END = 0, 100

NUMPY_TYPE_OF_ORT = {
    "tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(float16)": np.float16,
    "tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(int8)": np.int8,
    "tensor(uint8)": np.uint8, "tensor(bool)": np.bool_,
}


def input_array(name, shape, dtype, seed):
    """Returns the array for one input; unknown dimensions must be replaced before."""
    count = int(np.prod(shape, dtype=np.int64))
    if name == "attention_mask":
        return np.ones(shape, dtype=dtype)
    values = draws.uniform(draws.seed_of("input", seed, name), count, -1.0, 1.0).reshape(shape)
    if np.issubdtype(dtype, np.floating):
        return values.astype(dtype)
    if dtype == np.bool_:
        return values > 0
    # The product stays below TOKENS_END, since a draw is at most 1 - 2^-23 above the lowest one.
    unit = (values.astype(np.float64) + 1.0) / 2.0
    return (TOKENS_BEGIN + np.floor(unit * (TOKENS_END - TOKENS_BEGIN))).astype(dtype)


def session_inputs(session, seed, dynamic_size=1):
    """Returns name to array for an ONNX Runtime session; symbolic dimensions get `dynamic_size`."""
    feeds = {}
    for info in session.get_inputs():
        if info.type not in NUMPY_TYPE_OF_ORT:
            raise ValueError(f"input {info.name}: type {info.type} has no sample values")
        shape = [size if isinstance(size, int) else dynamic_size for size in info.shape]
        feeds[info.name] = input_array(info.name, shape, NUMPY_TYPE_OF_ORT[info.type], seed)
    return feeds


def model_inputs(model, seed, dynamic_size=1, sizes=None):
    """Returns name to array for a ModelProto; initializers that are also inputs are left out.
    Symbolic dimensions get what `sizes` has for their names, or `dynamic_size`."""
    # Imported here: the other callers of this module run where onnx may be absent.
    from onnx import helper
    parameters = {tensor.name for tensor in model.graph.initializer}
    feeds = {}
    for info in model.graph.input:
        if info.name in parameters:
            continue
        tensor = info.type.tensor_type
        if not tensor.elem_type:
            raise ValueError(f"input {info.name}: is not a tensor")
        shape = [dimension.dim_value if dimension.HasField("dim_value")
                 else (sizes or {}).get(dimension.dim_param, dynamic_size)
                 for dimension in tensor.shape.dim]
        dtype = helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        feeds[info.name] = input_array(info.name, shape, dtype, seed)
    return feeds


def liveness_faults(session, dynamic_size=1):
    """Runs the model on two inputs and returns what is wrong with its outputs, one line each.

    An output is dead when it is the same number everywhere or the same for both inputs. It also
    counts as dead when the input barely moves it, because then a difference would drown.
    """
    first = session.run(None, session_inputs(session, 1, dynamic_size))
    second = session.run(None, session_inputs(session, 2, dynamic_size))
    faults = []
    for info, a, b in zip(session.get_outputs(), first, second):
        faults += [f"{info.name}: {fault}" for fault in _output_faults(a, b)]
    return faults


def _output_faults(a, b):
    if not np.issubdtype(a.dtype, np.number) or a.size == 0:
        return ["is empty or not numeric"]
    a, b = a.astype(np.float64), b.astype(np.float64)
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        return ["holds a value that is not finite"]
    if np.abs(a).max() > 1e12:
        return [f"has exploded: largest value {np.abs(a).max():.1e}"]
    if a.size > 1 and a.std() < 1e-6:
        return ["has (nearly) one value everywhere"]
    change = np.abs(a - b).max() / np.abs(a).max()
    return [f"moves by only {change:.1e} between two inputs"] if change < 1e-4 else []
