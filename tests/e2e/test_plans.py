"""Plans that survive a move: which plan runs where, and that it is said."""

import os

import numpy as np
import onnx
import pytest

import learned
import models
import plan_growth
import sample_inputs

CORES = sorted(os.sched_getaffinity(0))
needs_two_cores = pytest.mark.skipif(len(CORES) < 2, reason="needs two processors")


def optimize(cli, model, output, *options, budget="8s"):
    return cli.run("optimize", model, "-o", output, "--budget", budget, "--json", *options)


def plan_of(cli, model, *options):
    """The grade of what runs, and why."""
    finished = cli.run("run", model, "--seed", "1", "--json", *options).expect(0)
    plan = finished.json["plan"]
    # A person is told, too, unless it is what was measured.
    assert (plan["explanation"] in finished.err) == (plan["grade"] != "exact")
    return plan["grade"], plan["explanation"]


def change_plan(model, changed, *replacements):
    """The model with other words in its first plan."""
    proto = onnx.load(model)
    (entry,) = (entry for entry in proto.metadata_props if entry.key == "plait.plan")
    text = models.unpacked_text(entry.value)
    for old, new in replacements:
        assert old in text
        text = text.replace(old, new)
    entry.value = models.packed_text(text)
    onnx.save(proto, changed)
    return changed


def assert_equals_onnx_runtime(cli, folder, original, optimized, feeds, *options):
    session = models.session_of(original.read_bytes())
    inputs, outputs = folder / "in", folder / "result"
    inputs.mkdir(exist_ok=True)
    for name, values in feeds.items():
        np.save(inputs / f"{name}.npy", values)
    shapes = [word for name, values in feeds.items()
              for word in ("--shape", f"{name}={'x'.join(map(str, values.shape))}")]
    finished = cli.run("run", optimized, "--inputs", inputs, "--outputs", outputs, "--json",
                       *shapes, *options).expect(0)
    for value, expected in zip(session.get_outputs(), session.run(None, feeds)):
        got = np.load(outputs / f"{value.name}.npy")
        assert got.shape == expected.shape
        assert np.abs(got - expected).max() <= models.REL_ERROR_MAX * np.abs(expected).max()
    return finished.json["plan"]


@pytest.fixture(scope="module")
def optimized(tmp_path_factory):
    """Of one thread, so that every machine has the device. Tests read it only."""
    folder = tmp_path_factory.mktemp("optimized")
    model, output = folder / "model.onnx", folder / "out.onnx"
    model.write_bytes(models.light_model("tiny_resnet"))
    optimize(learned.cli(folder / "cache"), model, output, "--plan-for",
             "cpu:threads=1").expect(0)
    return output


@needs_two_cores
def test_a_file_has_a_plan_for_each_number_of_threads(cli, folder, model_file):
    original, output = model_file("tiny_resnet"), folder / "out.onnx"
    report = optimize(cli, original, output, "--plan-for", "cpu:threads=2,1",
                      budget="30s").expect(0).json
    assert [plan["threads"] for plan in report["plans"]] == [2, 1]
    assert not any(plan["predicted"] for plan in report["plans"])
    assert report["plans"][0]["latency_us_median"] == report["optimized"]["latency_us_median"]
    assert output.stat().st_size - original.stat().st_size < 2 * (256 << 10)
    listed = cli.run("plans", output, "--threads", "1", "--json").expect(0).json["plans"]
    assert [(plan["threads"], plan["grade"]) for plan in listed] == [(2, "none"), (1, "exact")]
    for threads in ("1", "2"):
        assert plan_of(cli, output, "--threads", threads)[0] == "exact"
        bench = cli.run("bench", output, "--rounds", "1", "--threads", threads, "--require-plan",
                        "--json").expect(0).json
        assert bench["models"][0]["plan"]["grade"] == "exact"
        assert bench["models"][0]["embedded_plan"]


@needs_two_cores
def test_a_machine_with_fewer_cores_runs_a_default_plan(cli, folder, model_file):
    original, output = model_file("tiny_resnet"), folder / "out.onnx"
    optimize(cli, original, output, "--plan-for", "cpu:threads=2").expect(0)
    os.sched_setaffinity(0, CORES[:1])
    try:
        grade, explanation = plan_of(cli, output)
        assert grade == "default"
        assert "2 threads" in explanation and "run with 1 in the place of 2" in explanation
        required = cli.run("run", output, "--seed", "1", "--require-plan").expect(3)
        assert "another device" in required.err
        feeds = sample_inputs.session_inputs(models.session_of(original.read_bytes()), 3)
        assert_equals_onnx_runtime(cli, folder, original, output, feeds)
    finally:
        os.sched_setaffinity(0, CORES)


def test_fewer_instructions_run_a_default_plan(cli, optimized):
    if "_generic;" in cli.run("plans", optimized, "--json").expect(0).json["plans"][0]["device"]:
        pytest.skip("there are no fewer instructions")
    grade, explanation = plan_of(cli, optimized, "--threads", "1", "--instruction-set", "generic")
    assert grade == "default" and "here are generic and 1" in explanation


def test_a_plan_of_another_processor_is_used_and_said(cli, folder, optimized):
    moved = change_plan(optimized, folder / "moved.onnx", ('device "cpu;_', 'device "cpu;_Other_'))
    grade, explanation = plan_of(cli, moved, "--threads", "1", "--require-plan")
    assert grade == "same_instruction_set" and "another processor" in explanation
    (plan,) = cli.run("plans", moved, "--threads", "1", "--json").expect(0).json["plans"]
    assert plan["fits"] and plan["grade"] == grade and "another processor" in plan["reason"]


def test_a_plan_of_the_version_before_runs_and_of_the_next_does_not(cli, folder, optimized):
    before = change_plan(optimized, folder / "before.onnx", ("plan 4 {", "plan 3 {"),
                         ("  predicted 0\n", ""))
    assert plan_of(cli, before, "--threads", "1")[0] == "exact"
    after = change_plan(optimized, folder / "after.onnx", ("plan 4 {", "plan 5 {"))
    grade, explanation = plan_of(cli, after, "--threads", "1")
    assert grade == "default" and "this program reads versions 3 and 4" in explanation
    cli.run("bench", after, "--threads", "1", "--require-plan").expect(3)


def test_what_there_is_no_time_to_measure_is_predicted_and_said(cli, folder, model_file):
    dynamic, output = model_file("tiny_dynamic"), folder / "out.onnx"
    (value,) = onnx.load(dynamic).graph.input
    rest = "x".join(str(dim.dim_value or 2) for dim in value.type.tensor_type.shape.dim[1:])
    report = optimize(cli, dynamic, output, "--shape-range", f"{value.name}=1..2x{rest}",
                      "--plan-for", "cpu:threads=1", budget="0.01s").expect(0).json
    assert [plan["predicted"] for plan in report["plans"]] == [False, True]
    assert any("it was made by predicted times" in warning for warning in report["warnings"])
    (_, listed) = cli.run("plans", output, "--threads", "1", "--json").expect(0).json["plans"]
    assert listed["predicted"] and listed["grade"] == "exact"
    assert "by predicted times" in listed["reason"] or listed["reason"] == ""


def test_more_threads_than_there_are_need_a_prediction(cli, folder, model_file):
    original, output = model_file("tiny_resnet"), folder / "out.onnx"
    asked = ("--plan-for", "cpu:threads=1,200")
    refused = optimize(cli, original, output, *asked).expect(2)
    assert "options.plan_for: cpu has" in refused.err and "asked for are 200" in refused.err
    report = optimize(cli, original, output, *asked, "--allow-predicted").expect(0).json
    assert [plan["predicted"] for plan in report["plans"]] == [False, True]
    assert report["plans"][1]["predicted_us"] > 0
    assert report["plans"][1]["latency_us_median"] is None and report["plans"][1]["speedup"] is None
    listed = cli.run("plans", output, "--threads", "1", "--json").expect(0).json["plans"]
    assert [(plan["threads"], plan["predicted"]) for plan in listed] == [(1, False), (200, True)]
    assert "by predicted times" in cli.run("plans", output).expect(0).out


def test_more_threads_than_there_are_are_refused_with_a_way_out(cli, folder, model_file):
    model, output = model_file("tiny_resnet"), folder / "out.onnx"
    os.sched_setaffinity(0, CORES[:1])
    try:
        for verb in (["run", model, "--seed", "1"], ["bench", model], ["explain", model],
                     ["gate", model, model], ["gate", model, model, "--runtime", "onnxruntime"],
                     ["verify", model, model], ["diff", model, model]):
            refused = cli.run(*verb, "--threads", "2").expect(2)
            assert refused.last_error_line.endswith(
                "--threads: cpu has 1 by affinity, cpuset, quota and settings, asked for are 2 "
                "(0: all of them)"), refused.err
        refused = optimize(cli, model, output, "--threads", "2").expect(2)
        assert "options.threads: cpu has 1 by affinity" in refused.last_error_line
        assert not output.exists()
        # What the message proposes.
        way_out = "--plan-for cpu:threads=1,2 --allow-predicted"
        assert way_out in refused.last_error_line
        report = optimize(cli, model, output, *way_out.split()).expect(0).json
        assert [plan["predicted"] for plan in report["plans"]] == [False, True]
        assert "cpu has 1" in cli.run("plans", output, "--threads", "2").expect(2).last_error_line
    finally:
        os.sched_setaffinity(0, CORES)


@pytest.mark.parametrize("name", ["tiny_bert", "tiny_nasnet"])
def test_a_file_grows_by_no_more_than_its_plans_may(name, cli, folder, model_file):
    original, output = model_file(name), folder / "out.onnx"
    report = optimize(cli, original, output, "--plan-for", "cpu:threads=1,2",
                      "--allow-predicted").expect(0).json
    assert not any("the file grows" in warning for warning in report["warnings"])
    sizes = plan_growth.plan_bytes(output)
    growth = output.stat().st_size - original.stat().st_size
    allowed = plan_growth.allowed_bytes(original.stat().st_size)
    assert len(sizes) == 2 and max(sizes) <= allowed and growth <= 2 * allowed
    # Beside the texts of the plans there are their keys.
    assert sum(sizes) < growth < sum(sizes) + 1024


def test_plans_that_take_more_are_warned_of(cli, folder):
    original, output = folder / "model.onnx", folder / "out.onnx"
    original.write_bytes(models.many_biases(900))
    report = optimize(cli, original, output, "--plan-for", "cpu:threads=1").expect(0).json
    growth = output.stat().st_size - original.stat().st_size
    assert any(f"the file grows by {growth} bytes for 1 plan, more than 262144" in warning
               for warning in report["warnings"])
    assert plan_of(cli, output, "--threads", "1", "--require-plan")[0] == "exact"
    # It came with the file, and who made it is not known.
    again = optimize(cli, output, folder / "again.onnx", "--plan-for", "cpu:threads=2",
                     "--allow-predicted").expect(0).json
    assert again["kept_plans"] == []
    assert any("it takes more than" in warning for warning in again["warnings"])


def test_a_range_of_shapes_has_a_plan_for_each_bucket_and_runs_between_them(
        cli, folder, model_file):
    dynamic, output = model_file("tiny_dynamic"), folder / "out.onnx"
    (value,) = onnx.load(dynamic).graph.input
    dims = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
    assert dims[0] == 0, "the batch is open"
    rest = "x".join(str(dim or 2) for dim in dims[1:])
    report = optimize(cli, dynamic, output, "--shape-range", f"{value.name}=1..5x{rest}",
                      "--plan-for", "cpu:threads=1", budget="20s").expect(0).json
    assert [plan["shapes"][value.name][0] for plan in report["plans"]] == [1, 2, 4, 5]
    assert output.stat().st_size - dynamic.stat().st_size < 4 * (256 << 10)
    random = np.random.default_rng(3)
    for batch in range(1, 7):
        feeds = {value.name: random.standard_normal(
            [batch] + [dim or 2 for dim in dims[1:]]).astype(np.float32)}
        plan = assert_equals_onnx_runtime(cli, folder, dynamic, output, feeds, "--threads", "1")
        assert plan["grade"] == "exact"
        assert ("bound to these shapes" in plan["explanation"]) == (batch not in (1, 2, 4, 5))


def test_a_batch_that_nobody_gives_is_one_in_the_plan(cli, folder, model_file):
    dynamic, output = model_file("tiny_dynamic"), folder / "out.onnx"
    finished = optimize(cli, dynamic, output)
    (value,) = onnx.load(dynamic).graph.input
    if any(not dim.dim_value for dim in value.type.tensor_type.shape.dim[1:]):
        assert "--shape" in finished.expect(3).err
        return
    report = finished.expect(0).json
    assert report["plans"][0]["shapes"][value.name][0] == 1
    assert any("is open, and 1 in the plan" in warning for warning in report["warnings"])
    # Of 2 and of 3, to which the plan of 1 is bound.
    assert report["equivalence"]["shapes_checked"] == (2 if report["speedup"] > 1 else 0)
    assert output.read_bytes().startswith(dynamic.read_bytes())


def test_several_plans_are_decided_again_from_their_log(new_daemon, cli, folder, model_file):
    daemon = new_daemon().start()
    daemon.wait_for_worker()
    output, again = folder / "out.onnx", folder / "again.onnx"
    threads = "2,1" if len(CORES) > 1 else "1"
    report = optimize(cli, model_file("tiny_resnet"), output, "--plan-for",
                      f"cpu:threads={threads},300", "--allow-predicted", "--server",
                      daemon.address).expect(0).json
    assert len(report["plans"]) == len(threads.split(",")) + 1
    cli.run("replay", report["id"], "-o", again, "--server", daemon.address).expect(0)
    assert again.read_bytes() == output.read_bytes()


def test_a_log_has_what_was_compared_at_other_shapes(new_daemon, cli, folder, model_file):
    daemon = new_daemon().start()
    daemon.wait_for_worker()
    output, again = folder / "out.onnx", folder / "again.onnx"
    report = optimize(cli, model_file("tiny_dynamic"), output, "--server",
                      daemon.address).expect(0).json
    cli.run("replay", report["id"], "-o", again, "--server", daemon.address).expect(0)
    assert again.read_bytes() == output.read_bytes()


def test_the_report_says_how_far_a_default_plan_is(cli, folder, model_file):
    report = optimize(cli, model_file("tiny_bert"), folder / "out.onnx",
                      "--plan-for", "cpu:threads=1", budget="30s").expect(0).json
    if report["speedup"] == 1:
        assert report["default_plan"] is None
    else:
        assert report["default_plan"]["ratio"] > 0


def test_what_contradicts_itself_is_refused_before_anything_is_sent(new_cli, folder, model_file):
    model = model_file("tiny_resnet")
    for options, told in [
            (("--plan-for", "cpu:threads=1", "--threads", "1"), "options.threads"),
            (("--plan-for", "cpu:threads=1,1"), "twice"),
            (("--plan-for", "cuda:0:threads=1"), "it keeps the plans that are inside"),
            (("--plan-for", "cpu"), "--plan-for: expected"),
            (("--shape-range", "x=2..1"), "--shape-range: expected"),
            (("--shape-range", "x=1..2", "--body", "searched"), "options.body")]:
        assert told in optimize(new_cli, model, folder / "out.onnx", *options).expect(2).err
    assert not new_cli.cache.exists()
