"""One file for several devices: each machine adds its plan, and runs its own."""

import numpy as np
import onnx
import pytest

import learned
import models
import sample_inputs

ONE_THREAD = ("--plan-for", "cpu:threads=1")


def optimize(cli, model, output, *options, budget="5s"):
    return cli.run("optimize", model, "-o", output, "--budget", budget, "--json", *ONE_THREAD,
                   *options)


def instruction_set(cli):
    """Of this machine's processor."""
    (device,) = (device for device in cli.run("devices", "--json").expect(0).json["devices"]
                 if device["id"] == "cpu")
    return device["instruction_set"]


def sets_of(cli, model, *options):
    """Instruction set and grade of each plan, in the file's order."""
    listed = cli.run("plans", model, "--threads", "1", "--json", *options).expect(0).json["plans"]
    assert all(plan["fits"] == (plan["grade"] != "none") for plan in listed)
    return [(plan["instruction_set"], plan["grade"]) for plan in listed]


def grade_of(cli, model, *options):
    return cli.run("run", model, "--seed", "1", "--threads", "1", "--json",
                   *options).expect(0).json["plan"]["grade"]


def kept_sets(report):
    return [plan["device_fingerprint"].split(";")[3].strip("_") for plan in report["kept_plans"]]


class Machines:
    """A model that was optimized under fewer instructions (`small`) and under all (`large`)."""

    def __init__(self, folder):
        self.cli = learned.cli(folder / "cache")
        self.best = instruction_set(self.cli)
        self.fewer = "avx2" if self.best not in ("generic", "avx2") else "generic"
        self.held = ("--instruction-set", self.fewer)
        if self.best == self.fewer:
            pytest.skip("there are no fewer instructions")
        self.model = folder / "model.onnx"
        self.model.write_bytes(models.light_model("tiny_resnet"))
        self.small, self.large = folder / "small.onnx", folder / "large.onnx"
        optimize(self.cli, self.model, self.small, *self.held).expect(0)
        self.report = optimize(self.cli, self.small, self.large).expect(0).json


@pytest.fixture(scope="module")
def machines(tmp_path_factory):
    return Machines(tmp_path_factory.mktemp("machines"))


def test_a_file_keeps_the_plan_of_another_device(machines):
    cli, file = machines.cli, machines.large
    assert kept_sets(machines.report) == [machines.fewer]
    assert machines.report["kept_plans"][0]["threads"] == 1
    assert sets_of(cli, file) == [(machines.best, "exact"), (machines.fewer, "none")]
    assert sets_of(cli, file, *machines.held) == [(machines.best, "none"),
                                                  (machines.fewer, "exact")]
    original = machines.model.read_bytes()
    assert file.read_bytes().startswith(original)
    assert len(file.read_bytes()) - len(original) < 2 * (256 << 10)
    onnx.checker.check_model(onnx.load(file), full_check=True)


def test_each_device_runs_its_own_plan(machines, folder):
    cli, file = machines.cli, machines.large
    session = models.session_of(machines.model.read_bytes())
    feeds = sample_inputs.session_inputs(session, 3)
    (folder / "in").mkdir()
    for name, values in feeds.items():
        np.save(folder / "in" / f"{name}.npy", values)
    for number, held in enumerate(((), machines.held)):
        assert grade_of(cli, file, "--require-plan", *held) == "exact"
        outputs = folder / f"out{number}"
        cli.run("run", file, "--inputs", folder / "in", "--outputs", outputs, "--threads", "1",
                "--require-plan", *held).expect(0)
        for value, expected in zip(session.get_outputs(), session.run(None, feeds)):
            got = np.load(outputs / f"{value.name}.npy")
            assert np.abs(got - expected).max() <= models.REL_ERROR_MAX * np.abs(expected).max()
    # The plan alone does not fit the others.
    assert grade_of(cli, machines.small) == "default"


def test_a_plan_of_the_same_device_is_replaced(machines, folder):
    output = folder / "again.onnx"
    report = optimize(machines.cli, machines.large, output, *machines.held).expect(0).json
    assert kept_sets(report) == [machines.best]
    assert sets_of(machines.cli, output) == [(machines.fewer, "none"), (machines.best, "exact")]


def test_plans_can_be_dropped(machines, folder):
    output = folder / "dropped.onnx"
    report = optimize(machines.cli, machines.small, output, "--drop-plans").expect(0).json
    assert report["kept_plans"] == []
    assert not any("left out" in warning for warning in report["warnings"])
    assert sets_of(machines.cli, output) == [(machines.best, "exact")]


def test_a_report_for_people_says_how_many_were_kept(machines, folder):
    finished = machines.cli.run("optimize", machines.small, "-o", folder / "out.onnx", "--budget",
                                "5s", *ONE_THREAD).expect(0)
    assert "kept plans   1 for other devices, threads or shapes" in finished.out


def test_a_rewritten_body_keeps_none_and_says_so(machines, folder):
    output = folder / "rewritten.onnx"
    report = optimize(machines.cli, machines.small, output, "--body", "searched").expect(0).json
    assert report["kept_plans"] == []
    assert any("--body original keeps them" in warning for warning in report["warnings"])
    # And what a rewritten file has is kept beside its own graph.
    again = folder / "again.onnx"
    report = optimize(machines.cli, output, again, *machines.held).expect(0).json
    assert kept_sets(report) == [machines.best] and report["optimized"]["body"] == "original"
    assert sets_of(machines.cli, again) == [(machines.fewer, "none"), (machines.best, "exact")]


def test_plans_of_another_model_are_left_out_and_said(machines, folder):
    changed, output = folder / "changed.onnx", folder / "out.onnx"
    proto = onnx.load(machines.small)
    weight = max(proto.graph.initializer, key=lambda tensor: tensor.ByteSize())
    values = onnx.numpy_helper.to_array(weight).copy()
    values.flat[0] += 0.5
    weight.CopyFrom(onnx.numpy_helper.from_array(values, weight.name))
    onnx.save(proto, changed)
    finished = optimize(machines.cli, changed, output).expect(0)
    told = ("plan 1 of those that the model came with is left out: the model's nodes, weights or "
            "inputs are not those that the plan was made from")
    assert finished.json["warnings"].count(told) == 1 and told in finished.err
    assert sets_of(machines.cli, output) == [(machines.best, "exact")]


# A stranger's: a job must not end by them.
@pytest.mark.parametrize("key, value", [
    ("plait.plan", "zlib:"), ("plait.plan", "\x1b[2Jno plan"), ("plait.graph", "plan:7"),
    ("plait.graph", models.packed_text("graph {")), ("plait.plan", models.packed_text("plan 9 {")),
    ("plait.rewrites", models.packed_text("r" * (100 << 20))),
    ("plait.original", "0" * 5000), ("plait.version", "\x07")])
def test_a_bad_plan_does_not_hinder_a_job(machines, folder, key, value):
    bad, output = folder / "bad.onnx", folder / "out.onnx"
    proto = onnx.load(machines.large)
    entries = {entry.key: entry for entry in proto.metadata_props}
    (entries.get(key) or proto.metadata_props.add(key=key)).value = value
    onnx.save(proto, bad)
    report = optimize(machines.cli, bad, output).expect(0).json
    assert (machines.best, "exact") in sets_of(machines.cli, output)
    assert "\x1b" not in "".join(report["warnings"])
    if key in ("plait.plan", "plait.graph"):
        assert len(report["warnings"]) >= 1


def test_more_plans_than_a_file_may_hold_are_refused(machines, folder):
    full, output = folder / "full.onnx", folder / "out.onnx"
    proto = onnx.load(machines.small)
    entries = {entry.key: entry.value for entry in proto.metadata_props}
    plan = models.unpacked_text(entries["plait.plan"])
    for number in range(1, 64):
        other = plan.replace('device "cpu;_', f'device "cpu;_{number}_')
        for key, value in (("plan", models.packed_text(other)), ("graph", "plan:0"),
                           ("version", entries["plait.version"]),
                           ("original", entries["plait.original"])):
            proto.metadata_props.add(key=f"plait.{key}.{number}", value=value)
    onnx.save(proto, full)
    refused = optimize(machines.cli, full, output, budget="60s").expect(2)
    assert "may hold 64 plans: the job makes 1, and the model came with 64" in refused.err
    assert "--drop-plans" in refused.err and not output.exists()
    report = optimize(machines.cli, full, output, *machines.held).expect(0).json
    assert len(report["kept_plans"]) == 63


def test_plans_around_nodes_that_plait_lacks_are_kept(machines, folder):
    model, small, large = (folder / f"{name}.onnx" for name in ("model", "small", "large"))
    model.write_bytes(models.small_model(operator="Unknown", domain="custom"))
    optimize(machines.cli, model, small, *machines.held).expect(0)
    report = optimize(machines.cli, small, large).expect(0).json
    assert set(kept_sets(report)) == {machines.fewer}
    sets = [each for each, _ in sets_of(machines.cli, large)]
    assert sets.count(machines.fewer) == sets.count(machines.best) >= 1


def test_plans_for_other_shapes_are_kept(machines, folder):
    model, several, one = (folder / f"{name}.onnx" for name in ("model", "several", "one"))
    model.write_bytes(models.light_model("tiny_dynamic"))
    (value,) = onnx.load(model).graph.input
    rest = "x".join(str(dim.dim_value or 2) for dim in value.type.tensor_type.shape.dim[1:])
    optimize(machines.cli, model, several, "--shape-range", f"{value.name}=1..4x{rest}",
             *machines.held).expect(0)
    report = optimize(machines.cli, several, one, "--shape",
                      f"{value.name}=3x{rest}").expect(0).json
    assert [plan["shapes"][value.name][0] for plan in report["kept_plans"]] == [1, 2, 4]
    # One of its own device is replaced then.
    report = optimize(machines.cli, one, several, "--shape", f"{value.name}=2x{rest}",
                      *machines.held).expect(0).json
    kept = [plan["shapes"][value.name][0] for plan in report["kept_plans"]]
    assert kept == [3, 1, 4] and kept_sets(report) == [machines.best, *2 * [machines.fewer]]


def test_a_plan_for_a_described_device_stands_beside_one_that_runs(machines, folder):
    output = folder / "out.onnx"
    report = machines.cli.run("optimize", machines.large, "-o", output, "--device", "model:h200",
                              "--budget", "20s", "--json").expect(0).json
    assert sorted(kept_sets(report)) == sorted([machines.best, machines.fewer])
    assert sets_of(machines.cli, output)[1:] == [(machines.best, "exact"),
                                                 (machines.fewer, "none")]
    assert grade_of(machines.cli, output, "--require-plan") == "exact"


def test_plans_of_two_files_are_merged(machines, folder):
    cli, alone, merged = machines.cli, folder / "alone.onnx", folder / "merged.onnx"
    optimize(cli, machines.model, alone).expect(0)
    listed = cli.run("plans", machines.small, "--merge", alone, "--merge", machines.large, "-o",
                     merged, "--threads", "1", "--json").expect(0).json
    assert listed["path"] == str(merged)
    assert sets_of(cli, merged) == [(machines.fewer, "none"), (machines.best, "exact")]
    assert grade_of(cli, merged, "--require-plan") == "exact"
    assert grade_of(cli, merged, "--require-plan", *machines.held) == "exact"
    assert merged.read_bytes().startswith(machines.model.read_bytes())
    # The same files, the same bytes; over one of them, too.
    cli.run("plans", machines.small, "--merge", alone, "-o", alone).expect(0)
    assert alone.read_bytes() == merged.read_bytes()


def test_files_of_other_models_are_not_merged(machines, folder):
    other, output = folder / "other.onnx", folder / "out.onnx"
    other.write_bytes(models.light_model("tiny_nasnet"))
    refused = machines.cli.run("plans", machines.small, "--merge", other, "-o", output).expect(2)
    assert f"{other} is another model than {machines.small}" in refused.last_error_line
    assert not output.exists()
    assert "--merge and --output need each other" in machines.cli.run(
        "plans", machines.small, "-o", output).expect(2).last_error_line


def test_a_log_repeats_a_job_that_keeps_plans(machines, new_daemon, folder):
    daemon = new_daemon().start()
    daemon.wait_for_worker()
    output, again = folder / "out.onnx", folder / "again.onnx"
    report = optimize(machines.cli, machines.small, output, "--server",
                      daemon.address).expect(0).json
    assert kept_sets(report) == [machines.fewer]
    machines.cli.run("replay", report["id"], "-o", again, "--server", daemon.address).expect(0)
    assert again.read_bytes() == output.read_bytes()
