"""The Python package, alone and beside libraries that bring others of the same names."""

import importlib.util
import itertools
import os
import subprocess
import sys

import numpy as np
import onnx.parser
import pytest
from installed import ROOT, cached, programs

import models

# An interpreter with more libraries: bench/models/environments.py makes one.
PYTHON = os.environ.get("PLAIT_PEERS_PYTHON", sys.executable)
SANITIZED = pytest.mark.skipif(bool(cached("PLAIT_SANITIZE")), reason="a sanitizer starts first")


def python(installed, *words):
    environment = {**installed.environment(), "PYTHONPATH": str(ROOT / "runtime" / "python")}
    finished = subprocess.run([PYTHON, *map(str, words)], text=True, capture_output=True,
                              env=environment, timeout=programs.RUN_SECONDS_MAX, check=False)
    assert finished.returncode == 0, f"{words}\n{finished.stdout}\n{finished.stderr}"
    return finished.stdout


def libraries():
    if PYTHON == sys.executable:
        found = [name for name in ("onnx", "onnxruntime", "openvino", "torch")
                 if importlib.util.find_spec(name)]
    else:
        found = subprocess.run(
            [PYTHON, "-c", "import importlib.util as u; print(*[n for n in ('onnx', 'onnxruntime', "
                           "'openvino', 'torch') if u.find_spec(n)])"],
            text=True, capture_output=True, check=True).stdout.split()
    return [*found, "plait"]


def orders():
    """All orders. Of many libraries those are long but for a few in which each follows and precedes
    plait, and each comes first."""
    names = libraries()
    turned = [(*names[i:], *names[:i]) for i in range(len(names))]
    few = {*turned, *(tuple(reversed(order)) for order in turned)}
    few = few if len(names) > 3 else set(itertools.permutations(names))
    return [pytest.param(order, marks=() if order in few else pytest.mark.long, id="-".join(order))
            for order in itertools.permutations(names)]


@SANITIZED
@pytest.mark.parametrize("order", orders())
def test_libraries_run_in_one_process_in_any_order(order, installed, tmp_path):
    model = tmp_path / "model.onnx"
    model.write_bytes(models.light_model("tiny_resnet"))
    assert python(installed, ROOT / "tests/runtime/beside_others.py", model, *order) == "equal\n"


SESSION = """
import sys
import numpy as np
import plait

session = plait.InferenceSession(sys.argv[1], require_plan=True)
assert session.uses_embedded_plan and "is used" in session.plan
info, = session.get_inputs()
assert (info.type, len(info.shape)) == ("tensor(float)", 4), info
array = np.load(sys.argv[2])
output = session.get_outputs()[0].name
whole, = session.run([output], {info.name: array})
# A view with gaps, a wrong type, wrong names.
gaps = np.repeat(array, 2, axis=3)[..., ::2]
assert not gaps.flags.c_contiguous
np.testing.assert_array_equal(session.run(None, {info.name: gaps})[0], whole)
wrong = [(None, {info.name: array.astype(np.float64)}), (None, {info.name: array[0]}), (None, {}),
         (None, {info.name: array, "other": array}), (["none"], {info.name: array})]
for names, feed in wrong:
    try:
        session.run(names, feed)
    except ValueError as error:
        assert str(error)
    else:
        raise AssertionError((names, feed))
try:
    plait.InferenceSession(b"no model")
except plait.InvalidRequestError as error:
    assert error.reason == "INVALID_REQUEST" and str(error)
else:
    raise AssertionError
try:
    plait.InferenceSession("none.onnx")
except plait.NotFoundError as error:
    assert "none.onnx" in str(error)
else:
    raise AssertionError
for providers in (["CPUExecutionProvider"],
                  [("CUDAExecutionProvider", {}), "CPUExecutionProvider"]):
    plait.InferenceSession(sys.argv[1], providers=providers)
try:
    plait.InferenceSession(sys.argv[1], providers=["CUDAExecutionProvider"])
except ValueError as error:
    assert "CUDAExecutionProvider" in str(error)
else:
    raise AssertionError
np.save(sys.argv[3], whole)
"""


@SANITIZED
def test_a_session_has_onnxruntimes_methods(installed, planned_model, tmp_path):
    model = planned_model("tiny_resnet")
    judge = models.session_of(model.read_bytes())
    array = np.random.default_rng(5).standard_normal(
        judge.get_inputs()[0].shape).astype(np.float32)
    np.save(tmp_path / "input.npy", array)
    python(installed, "-c", SESSION, model, tmp_path / "input.npy", tmp_path / "output.npy")
    expected = judge.run(None, {judge.get_inputs()[0].name: array})[0]
    np.testing.assert_allclose(np.load(tmp_path / "output.npy"), expected, rtol=0,
                               atol=models.REL_ERROR_MAX * np.abs(expected).max())


PINNED = """
import os
import sys
import numpy as np
import plait

path, pins = sys.argv[1], sys.argv[2] == "pinned"
session = plait.InferenceSession(path, pin_threads=pins, ignore_plan=True)
info, = session.get_inputs()
feed = {info.name: np.ones(info.shape, np.float32)}
for _ in range(3):
    session.run(None, feed)
others = [int(task) for task in os.listdir("/proc/self/task") if int(task) != os.getpid()]
widths = [len(os.sched_getaffinity(task)) for task in others]
assert (1 in widths) == pins, widths
assert len(os.sched_getaffinity(0)) > 1
try:
    plait.InferenceSession(path, pin_threads=not pins, ignore_plan=True)
except plait.Error as error:
    assert "must pin their threads, or none" in str(error), error
else:
    raise AssertionError
del session
plait.InferenceSession(path, pin_threads=not pins, ignore_plan=True)
"""


@SANITIZED
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="there is nothing to pin")
@pytest.mark.parametrize("how", ["pinned", "anywhere"])
def test_threads_are_pinned_where_all_sessions_ask_for_it(how, installed, tmp_path):
    model = tmp_path / "model.onnx"
    model.write_bytes(models.light_model("tiny_resnet"))
    python(installed, "-c", PINNED, model, how)


PLAN_IN_USE = """
import sys
import plait

for path in sys.argv[1:]:
    print(plait.InferenceSession(path, threads=1).plan)
"""


@SANITIZED
def test_a_session_says_which_of_several_devices_plans_it_runs(installed, optimized, tmp_path):
    model, theirs, ours, back = (tmp_path / f"{name}.onnx" for name in ("m", "a", "b", "c"))
    model.write_bytes(models.light_model("tiny_resnet"))
    one = ("--plan-for", "cpu:threads=1")
    held = (*one, "--instruction-set", "generic")
    optimized(model, theirs, *held)
    optimized(theirs, ours, *one)
    optimized(ours, back, *held)
    alone, *several = python(installed, "-c", PLAN_IN_USE, theirs, ours, back).splitlines()
    assert "made for another device (generic and 1 threads" in alone
    assert several == 2 * ["the plan in the model is used"]


OPEN_SHAPES = """
import sys
import numpy as np
import plait

session = plait.InferenceSession(sys.argv[1])
info, = session.get_inputs()
draw = np.random.default_rng(7).standard_normal
for batch in (3, 1, 8, 3):
    array = draw([batch, *info.shape[1:]]).astype(np.float32)
    whole = session.run(None, {info.name: array})
    assert whole[0].shape[0] == batch
    for row in range(batch):
        single = session.run(None, {info.name: array[row:row + 1]})
        np.testing.assert_allclose(whole[0][row:row + 1], single[0], rtol=0, atol=1e-4)
for wrong in (array[..., :-1], array[0]):
    try:
        session.run(None, {info.name: wrong})
    except ValueError as error:
        assert info.name in str(error), error
    else:
        raise AssertionError(wrong.shape)
"""


@SANITIZED
def test_a_session_takes_any_size_of_an_open_dimension(installed, tmp_path):
    model = tmp_path / "model.onnx"
    model.write_bytes(models.light_model("tiny_dynamic"))
    python(installed, "-c", OPEN_SHAPES, model)


REFERENCE = """
import sys
import plait

session = plait.InferenceSession(sys.argv[1])
assert session.reference_nodes == int(sys.argv[2]), session.reference_nodes
print(session.plan)
"""


@SANITIZED
def test_a_session_names_what_runs_as_reference_code(installed, tmp_path):
    for name, element, count in (("float64", "double", 2), ("float32", "float", 0)):
        model = tmp_path / f"{name}.onnx"
        text = f"""<ir_version: 8, opset_import: ["" : 17]>
            g ({element}[2,2] x) => ({element}[2,2] y) {{ p = MatMul(x, x) y = MatMul(p, x) }}"""
        model.write_bytes(onnx.parser.parse_model(text).SerializeToString())
        plan = python(installed, "-c", REFERENCE, model, count)
        assert ("2 nodes run as slow reference code (MatMul)" in plan) == (count > 0), plan


BINDING = """
import gc
import sys
import numpy as np
import plait


class Foreign:  # what a tensor of another library is for numpy
    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class Elsewhere(Foreign):
    def __dlpack__(self, **options):
        raise BufferError("it lies on a GPU")


def refused(call, *words):
    try:
        call(*words)
    except ValueError as error:
        return str(error)
    raise AssertionError(words)


session = plait.InferenceSession(sys.argv[1])
info, = session.get_inputs()
output = session.get_outputs()[0]
first, second = (np.random.default_rng(seed).standard_normal(info.shape).astype(np.float32)
                 for seed in (1, 2))
expected = [session.run(None, {info.name: array})[0] for array in (first, second)]
assert not np.array_equal(*expected)
np.testing.assert_array_equal(session.run(None, {info.name: Foreign(first)})[0], expected[0])
assert "GPU" in refused(session.run, None, {info.name: Elsewhere(first)})

# The session's own buffers: nothing is copied.
own, written = session.input_buffer(info.name), session.output_buffer(output.name)
binding = session.io_binding()
assert "not bound" in refused(session.run_with_iobinding, binding)
binding.bind_cpu_input(info.name, own)
binding.bind_output(output.name)
for array, result in zip((first, second), expected):
    own[...] = array
    session.run_with_iobinding(binding)
    value, = binding.get_outputs()
    assert value.data_ptr() == written.ctypes.data and value.shape() == output.shape
    np.testing.assert_array_equal(value.numpy(), result)
    np.testing.assert_array_equal(np.from_dlpack(value), result)
kept, = binding.copy_outputs_to_cpu()
own[...] = first
session.run_with_iobinding(binding)
np.testing.assert_array_equal(kept, expected[1])

# The caller's buffers, by array and by address.
given, place = second.copy(), np.full(output.shape, np.nan, np.float32)
binding.bind_cpu_input(info.name, Foreign(given))
binding.bind_output(output.name, "cpu", 0, np.float32, output.shape, place.ctypes.data)
session.run_with_iobinding(binding)
np.testing.assert_array_equal(place, expected[1])
given[...] = first
session.run_with_iobinding(binding)
np.testing.assert_array_equal(place, expected[0])
binding.clear_binding_inputs()
binding.bind_input(info.name, "cpu", 0, np.float32, info.shape, second.ctypes.data)
session.run_with_iobinding(binding)
np.testing.assert_array_equal(binding.get_outputs()[0].numpy(), expected[1])

address = second.ctypes.data
assert "cuda" in refused(binding.bind_output, output.name, "cuda")
assert "int64" in refused(binding.bind_input, info.name, "cpu", 0, np.int64, info.shape, address)
assert "[1]" in refused(binding.bind_input, info.name, "cpu", 0, np.float32, [1], address)
assert "none" in refused(binding.bind_cpu_input, "none", first)
assert "none" in refused(session.input_buffer, "none")

# A buffer keeps the session that it belongs to.
del session, binding, value
gc.collect()
own[...] = second
np.testing.assert_array_equal(own, second)
"""


@SANITIZED
def test_bound_buffers_are_read_and_written_in_place(installed, tmp_path):
    model = tmp_path / "model.onnx"
    model.write_bytes(models.light_model("tiny_resnet"))
    python(installed, "-c", BINDING, model)


SHAPES = """
import sys
import plait

import numpy as np
import onnx
value = onnx.load(sys.argv[1]).graph.input[0]
dims = [dim.dim_value or 3 for dim in value.type.tensor_type.shape.dim]
session = plait.InferenceSession(sys.argv[1], input_shapes={value.name: dims})
assert session.get_inputs()[0].shape == dims
# A batch is 1 until a run says how large it is.
session = plait.InferenceSession(sys.argv[1])
assert session.get_inputs()[0].shape == [1, *dims[1:]]
values = np.ones(dims, np.float32)
assert session.run(None, {value.name: values})[0].shape[0] == dims[0]
proto = onnx.load(sys.argv[1])
proto.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "length"
try:
    plait.InferenceSession(proto.SerializeToString())
except plait.Error as error:
    assert "is not known" in str(error), error
else:
    raise AssertionError
"""


@SANITIZED
def test_open_dimensions_are_given_by_name(installed, tmp_path):
    model = tmp_path / "model.onnx"
    model.write_bytes(models.light_model("tiny_dynamic"))
    python(installed, "-c", SHAPES, model)


TORCH = """
import sys
import numpy as np
import plait
import torch


def refused(tensor):
    try:
        session.run(None, {info.name: tensor})
    except ValueError as error:
        return str(error)
    raise AssertionError(tensor.dtype)


session = plait.InferenceSession(sys.argv[1])
info, = session.get_inputs()
output = session.get_outputs()[0]
first, second = (torch.randn(info.shape, generator=torch.Generator().manual_seed(seed))
                 for seed in (1, 2))
expected = [session.run(None, {info.name: tensor.numpy()})[0] for tensor in (first, second)]
assert not np.array_equal(*expected)
np.testing.assert_array_equal(session.run(None, {info.name: first})[0], expected[0])

# One with gaps, and those that no array can be: nothing is converted that would change a value.
gaps = first.repeat_interleave(2, dim=3)[..., ::2]
assert not gaps.is_contiguous()
np.testing.assert_array_equal(session.run(None, {info.name: gaps})[0], expected[0])
assert "float64" in refused(first.double())
for tensor in (first.bfloat16(), first.clone().requires_grad_(), first.to("meta")):
    assert info.name in refused(tensor)

# Tensors as buffers: what is written into one is read, and what a run writes lies in the other.
given, place = second.clone(), torch.full(output.shape, float("nan"))
binding = session.io_binding()
binding.bind_cpu_input(info.name, given)
binding.bind_output(output.name, "cpu", 0, np.float32, output.shape, place.data_ptr())
for tensor, result in ((second, expected[1]), (first, expected[0])):
    given.copy_(tensor)
    session.run_with_iobinding(binding)
    np.testing.assert_array_equal(place.numpy(), result)
value = torch.from_dlpack(binding.get_outputs()[0])
assert value.data_ptr() == place.data_ptr() and torch.equal(value, place)
"""


@SANITIZED
@pytest.mark.skipif("torch" not in libraries(), reason="the interpreter has no torch")
def test_tensors_of_torch_are_inputs_and_buffers(installed, tmp_path):
    model = tmp_path / "model.onnx"
    model.write_bytes(models.light_model("tiny_resnet"))
    python(installed, "-c", TORCH, model)
