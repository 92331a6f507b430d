"""One file at many shapes: what counts of first runs, and what is judged."""

import sys
import types

import numpy as np
import pytest
from test_peers import PLAIT, ROOT, call, light, optimize, watch_that_reads

import shapes  # found through test_peers

SHAPES = ROOT / "bench/peers/shapes.py"
ARRAY = np.array([1.0, 2.0], np.float32)


def shape_with(own, peer=((2.0, 2.0, None),), outputs=None):
    """A shape that has these samples, which are those of Sample."""
    samples = {"plait": own, "onnxruntime": peer}
    return shapes.Shape(
        {"batch": 3}, None, "bound",
        {name: [shapes.Sample(*values) for values in taken] for name, taken in samples.items()},
        outputs or {name: {"y": ARRAY} for name in samples})


def judge(shape):
    """Its figures, and what is wrong with them."""
    entry = shapes.figures_of(shape)
    arguments = types.SimpleNamespace(firsts=3, first_extra_ms_max=20.0, tolerance=1e-4)
    return entry, list(shapes.faults_of([shape], [entry], arguments))


def test_one_slow_first_run_does_not_decide():
    entry, faults = judge(shape_with([(300.0, 1.0, None), (10.0, 1.0, None), (12.0, 1.0, None)]))
    assert not faults and entry["plait"]["first_extra_ms_median"] == 11
    assert entry["ratio"] == 2
    _, faults = judge(shape_with([(30.0, 1.0, None), (32.0, 1.0, None), (5.0, 1.0, None)]))
    assert faults == ["3: the first run takes 29.0 ms longer than later ones, at most 20"]


def test_disturbed_first_runs_are_left_out_and_too_few_are_a_fault():
    own = [(10.0, 1.0, None), (12.0, 2.0, None), (90.0, 9.0, "far")]
    entry, faults = judge(shape_with(own))
    assert entry["plait"]["first_ms_median"] == 11 and entry["plait"]["later_ms_median"] == 1.5
    assert faults == ["3: 2 of 3 first runs were undisturbed"]
    shape = shape_with([(90.0, 9.0, "far")] * 9)
    entry, faults = judge(shape)
    assert entry["plait"]["first_ms_median"] is None and entry["ratio"] is None
    assert faults == ["3: 0 of 3 first runs were undisturbed"]
    header, row, summary, _, counted = shapes.table_of(["batch"], [shape], [entry])
    assert "first - later" in header and row.split()[3:6] == ["-"] * 3
    assert summary.endswith("nothing follows") and "10, of which 9 were disturbed" in counted


def test_outputs_that_differ_are_a_fault():
    outputs = {"plait": {"y": ARRAY * 2}, "onnxruntime": {"y": ARRAY}}
    _, faults = judge(shape_with([(1.0, 1.0, None)] * 3, outputs=outputs))
    assert faults == ["3: the outputs differ by 1.0e+00"]


class Child:
    """Answers as a process does whose first run takes 30 ms, and any other one 10."""

    def ask(self, request, *fields):
        assert request["command"] == "first" and fields == ("samples_us",)
        return {"samples_us": [30000.0]}

    def time(self, runs):
        return types.SimpleNamespace(median=10000.0)


@pytest.mark.parametrize("are_far, counts", [
    ([False] * 4, True), ([True, False, False], False),
    # Of the first run nothing is taken again, of later ones something is.
    ([False, True, False, False], False), ([False, False, True, False, False], True),
    ([False, False, *[True] * 7], False)])
def test_a_first_run_is_taken_once(monkeypatch, are_far, counts):
    watch = watch_that_reads(monkeypatch, *are_far)
    sample = shapes.sample_of(Child(), shape_with([]), 9, watch)
    assert (sample.first_ms, sample.later_ms) == (30, 10)
    assert (sample.disturbed is None) == counts


@pytest.fixture(name="model", scope="module")
def fixture_model(tmp_path_factory):
    """A file with a plan for a batch of one."""
    folder = tmp_path_factory.mktemp("shapes")
    model = light.write("tiny_dynamic", folder)
    optimize(model)
    return folder / "optimized" / model.name


def arguments_for(model):
    return types.SimpleNamespace(model=model, plait=PLAIT, threads=2, timeout_s=60, runs=1,
                                 sizes=[("batch", [1, 3])], firsts=3, processes_max=4)


def test_every_process_of_a_runtime_runs_each_shape_first(model, tmp_path, monkeypatch):
    arguments = arguments_for(model)
    measured = shapes.shapes_of(shapes.onnx.load(str(model)), arguments, tmp_path)
    assert [shape.name for shape in measured] == ["1", "3"]
    assert [shape.plan for shape in measured] == ["own", "bound"]
    unplanned = arguments_for(model.parent.parent / model.name)
    (tmp_path / "others").mkdir()
    others = shapes.shapes_of(shapes.onnx.load(str(model)), unplanned, tmp_path / "others")
    assert [shape.plan for shape in others] == ["default", "default"]
    # plait's wheel is not beside the tests: the other session stands for both.
    monkeypatch.setattr(shapes, "RUNTIMES", ("onnxruntime",))
    shapes.measure(measured, arguments, shapes.machine_watch.MachineWatch())
    for shape in measured:
        samples = shape.samples["onnxruntime"]
        assert len(samples) == 3
        assert all(sample.first_ms > 0 < sample.later_ms for sample in samples)
        assert [array.shape[0] for array in shape.outputs["onnxruntime"].values()] == [
            shape.sizes["batch"]]


def test_sizes_that_the_file_does_not_leave_open_are_refused(model):
    done = call(sys.executable, SHAPES, model, "--sizes", "length=1,2")
    assert done.returncode == 2 and "there are batch" in done.stderr
    done = call(sys.executable, SHAPES, model, "--sizes", "batch=1", "--firsts", 1)
    assert done.returncode == 2 and "--firsts is 3" in done.stderr


def test_shapes_are_kept_with_the_machine_and_the_versions(model, tmp_path):
    kept = tmp_path / "shapes.json"
    done = call(sys.executable, SHAPES, model, "--sizes", "batch=1,3", "--runs", 1,
                "--processes-max", 3, "--json", kept)
    if call(sys.executable, "-c", "import plait").returncode != 0:
        assert done.returncode == 1 and "No module named 'plait'" in done.stderr
        return
    record = shapes.json.loads(kept.read_text())
    assert record["machine"]["processor"] and record["date"] and record["versions"]["plait"]
    assert [shape["sizes"] for shape in record["shapes"]] == [{"batch": 1}, {"batch": 3}]
