"""bench/peers on small models: real runtimes, no figure for a plan that was ignored, and the rules
by which rounds count."""

import contextlib
import itertools
import json
import pathlib
import shutil
import subprocess
import sys
import types

import onnx
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLAIT = ROOT / "build" / "plait"
sys.path.insert(0, str(ROOT / "bench" / "models"))
sys.path.insert(0, str(ROOT / "bench" / "peers"))

import comparison  # noqa: E402 (found through the lines above)
import interleaved  # noqa: E402
import light  # noqa: E402
import machine_watch  # noqa: E402
import participants  # noqa: E402
import report  # noqa: E402
import rounds  # noqa: E402


def call(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          timeout=300, check=False)


def check_equal(*words):
    return call(sys.executable, ROOT / "bench" / "peers" / "check_equal.py", *words)


def compare(model, *options, least=1):
    """Runs peers.py on the model; returns the process, its JSON and the rows of that by runtime."""
    kept = model.parent / "peers.json"
    done = call(sys.executable, ROOT / "bench" / "peers" / "peers.py", model, "--runtimes",
                "onnxruntime,plait", "--rounds", least, "--rounds-max", least, "--round-ms", 1,
                "--pause-ms", 0, "--json", kept, *options)
    document = json.loads(kept.read_text())
    (result,) = document["models"]
    return done, document, {row["runtime"]: row for row in result["runtimes"]}


def optimize(model):
    """Makes its optimized file, of the same name in the folder `optimized` beside it."""
    folder = model.parent
    (folder / "optimized").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        done = call(PLAIT, "optimize", model, "-o", folder / "optimized" / model.name,
                    "--budget", "3s", "--threads", 2)
    assert done.returncode == 0, done.stderr


@pytest.fixture(name="made", scope="module")
def fixture_made(tmp_path_factory):
    """A folder with a small model, and with its optimized file in the folder `optimized`."""
    folder = tmp_path_factory.mktemp("made")
    optimize(light.write("tiny_resnet", folder))
    return folder


@pytest.fixture(name="model")
def fixture_model(made, tmp_path):
    """Returns a copy of that model, beside the folder `optimized`."""
    shutil.copytree(made / "optimized", tmp_path / "optimized")
    return pathlib.Path(shutil.copy(made / "tiny_resnet.onnx", tmp_path))


def test_check_equal_tells_equal_from_different(tmp_path):
    first = light.write("tiny_sru", tmp_path / "a")
    second = light.write("tiny_sru", tmp_path / "b", seed=1)
    same = check_equal(first, first, "--json")
    assert same.returncode == 0 and json.loads(same.stdout)["max_rel_error"] == 0
    assert check_equal(first, second).returncode == 12
    assert check_equal(first, second, "--tolerance", 1e3).returncode == 0
    assert check_equal(first, tmp_path / "none.onnx").returncode == 1


def test_a_small_model_is_timed_by_every_runtime(model):
    done, document, rows = compare(
        model, "--optimized", model.parent / "optimized", least=3)
    assert done.returncode == 0, done.stdout + done.stderr
    assert set(rows) == {"onnxruntime", "plait", "plait-again", "onnxruntime+plait"}
    assert set(document["models"][0]["returned_ratios"]) <= {"onnxruntime"}
    (result,) = document["models"]
    assert len(result["rounds"]) == 3 and {entry["load"] for entry in result["rounds"]} == {0, 1, 2}
    assert document["machine"]["cpuid"]["flags"]
    assert document["peaks"]["multiply_add_gflops"]["1"] > 0
    for row in rows.values():
        assert row["latency_us_median"] > 0 and len(row["rounds"]) == len(row["load_ms_all"]) == 3
        assert row["load_ms"] > 0 and row["peak_memory_bytes"] > 2 ** 20
        assert 0 < row["part_of_peak"] < 2 and row["max_rel_error"] < 1e-4
    told = json.loads(call(PLAIT, "version", "--json").stdout)
    assert rows["plait"]["version"] == told["version"]
    if result["peer_ratio"]:
        assert result["peer_ratio"]["low"] <= result["peer_ratio"]["median"]
        assert "the better peer / plait over 1 models" in done.stdout


def test_a_model_with_an_open_dimension_is_timed_at_the_size_asked_for(tmp_path):
    model = light.write("tiny_dynamic", tmp_path)
    optimize(model)
    # The plan in the file is for a batch of one, and is bound to that of three.
    for options in ((), ("--optimized", tmp_path / "optimized")):
        done, _, rows = compare(model, "--dynamic-size", 3, *options)
        assert done.returncode == 0, done.stdout + done.stderr
        assert rows["plait"]["latency_us_median"] > 0 and rows["plait"]["max_rel_error"] < 1e-4


def test_a_session_of_python_takes_part_where_its_wheel_is_installed(model):
    done, document, rows = compare(model, "--runtimes", "onnxruntime,plait,plait-session",
                                   "--optimized", model.parent / "optimized")
    row = rows["plait-session"]
    # In a process of its own, as there: other tests add to where this one finds packages.
    if call(sys.executable, "-c", "import plait").returncode != 0:
        assert done.returncode == 1 and "No module named 'plait'" in row["failure"]
        return
    assert done.returncode == 0, done.stdout + done.stderr
    assert row["max_rel_error"] < 1e-4 and document["models"][0]["session_ratio"]
    assert "the better peer / plait-session over 1 models" in done.stdout


def test_large_inputs_beside_a_process_that_spins(model):
    done, document, rows = compare(model, "--beside-spinner", "--input-scale", 255)
    assert done.returncode == 0, done.stdout + done.stderr
    assert document["options"]["beside_spinner"] and document["options"]["input_scale"] == 255
    assert not any(entry["taken_again"] for entry in document["models"][0]["rounds"])
    assert rows["plait"]["latency_us_median"] > 0 and rows["plait"]["max_rel_error"] < 1e-4


def linked_programs(folder):
    """A folder with plait's programs; returns the path of `plait` in it."""
    folder.mkdir()
    for name in ("plait", "plait_child", "processor_peaks"):
        (folder / name).symlink_to(PLAIT.parent / name)
    return folder / "plait"


def test_a_run_that_was_ended_goes_on_where_it_was(model, tmp_path):
    plait = linked_programs(tmp_path / "programs")
    given = ("--optimized", model.parent / "optimized", "--plait", plait)
    _, first, _ = compare(model, *given)
    done, second, _ = compare(model, *given)
    assert "measured already" in done.stdout and second == first
    optimized = onnx.load(model.parent / "optimized" / model.name)
    optimized.metadata_props.add(key="note", value="another file")
    onnx.save(optimized, model.parent / "optimized" / model.name)
    done, _, _ = compare(model, *given)
    assert "measured already" not in done.stdout, "plait ran another file"


def test_a_record_of_other_options_is_not_written_over(model):
    given = ("--optimized", model.parent / "optimized")
    _, first, _ = compare(model, *given)
    done, second, _ = compare(model, *given, "--seed", 2)
    assert done.returncode == 2 and second == first
    assert "options (seed is 1 there, and 2 here)" in done.stderr and not done.stdout


def test_a_record_of_another_build_is_not_written_over(model, tmp_path):
    plait = linked_programs(tmp_path / "programs")
    given = ("--optimized", model.parent / "optimized", "--plait", plait)
    _, first, _ = compare(model, *given)
    child = plait.with_name("plait_child")
    other = child.read_bytes() + b"of another build"
    child.unlink()
    child.write_bytes(other)
    child.chmod(0o755)
    done, second, _ = compare(model, *given)
    assert done.returncode == 2 and second == first
    assert "other programs" in done.stderr


@pytest.mark.parametrize("text", ['{"a": 1', "[]", '{"models": []}'])
def test_a_file_that_is_no_record_is_not_written_over(model, text):
    kept = model.parent / "peers.json"
    kept.write_text(text)
    done = call(sys.executable, ROOT / "bench" / "peers" / "peers.py", model, "--json", kept)
    assert done.returncode == 2 and f"{kept} is no record of peers.py" in done.stderr
    assert kept.read_text() == text


def plait_that_tells(precision, folder):
    """plait's programs, of which `plait` tells that every file has a plan of this precision."""
    plait = linked_programs(folder)
    told = json.dumps({"plans": [{"precision": precision}, {"precision": None}]})
    plait.unlink()
    plait.write_text(f"#!/bin/sh\necho '{told}'\n")
    plait.chmod(0o755)
    return plait


@pytest.mark.parametrize("compared, fits", [
    ("fp32", {"strict": True, "bf16": False, "auto": False}),
    ("bf16", {"strict": True, "bf16": True, "auto": False})])
def test_plans_of_another_precision_are_told(tmp_path, compared, fits):
    for plan, does_fit in fits.items():
        arguments = types.SimpleNamespace(plait=plait_that_tells(plan, tmp_path / plan), threads=1,
                                          precision=compared, timeout_s=60)
        refused = pytest.raises(participants.ParticipantFailure, match=f"has precision {plan}")
        with contextlib.nullcontext() if does_fit else refused:
            participants.check_plan("model.onnx", arguments)


@pytest.mark.parametrize("plan, is_timed", [("strict", True), ("auto", False)])
def test_a_plan_of_another_precision_has_no_figure(model, tmp_path, plan, is_timed):
    plait = plait_that_tells(plan, tmp_path / "programs")
    _, _, rows = compare(model, "--plait", plait, "--precision", "bf16")
    if is_timed:
        assert rows["plait"]["latency_us_median"] > 0
    else:
        assert rows["plait"]["failure"] == f"its plan has precision {plan}, compared is bf16"


def test_a_runtime_that_is_missing_has_a_row_that_says_so(tmp_path):
    model = light.write("tiny_sru", tmp_path)
    done, _, rows = compare(model, "--plait", tmp_path / "plait")
    assert "plait_child is not built" in done.stdout and done.returncode == 1
    assert rows["onnxruntime"]["latency_us_median"] > 0
    assert rows["plait"]["failure"] == "plait_child is not built"


@pytest.mark.parametrize("script, told", [
    ("exit 3", "exit code 3"),
    ("echo no memory >&2; exit 1", "exit code 1, no memory"),
    ("while read line; do echo 2; done", "load printed something else"),
    ("while read line; do echo '{}'; done", "load printed something else"),
    ("while read line; do echo '{\"error\": \"no such model\"}'; done", "no such model")])
def test_a_program_that_is_not_plait_has_a_row_that_says_so(tmp_path, script, told):
    program = tmp_path / "plait_child"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    done, _, rows = compare(light.write("tiny_sru", tmp_path), "--plait", tmp_path / "plait")
    assert done.returncode == 1 and not done.stderr
    assert told in rows["plait"]["failure"]


def test_a_plan_that_is_ignored_is_a_failure_and_not_a_figure(model):
    optimized = model.parent / "optimized" / model.name
    changed = onnx.load(optimized)
    (plan,) = (entry for entry in changed.metadata_props if entry.key == "plait.plan")
    plan.value = "of another form"
    onnx.save(changed, optimized)
    done, _, rows = compare(model, "--optimized", model.parent / "optimized")
    assert done.returncode == 1
    assert "is ignored" in rows["plait"]["failure"] and "latency_us_median" not in rows["plait"]
    assert rows["onnxruntime"]["latency_us_median"] > 0


def test_the_interval_of_a_median_is_that_of_its_order():
    # The 4th and the 12th of 15 values hold the median in 96.5 % of cases, the next inner ones in
    # 88 %.
    assert rounds.interval(range(1, 16)) == (8, 4, 12)
    assert rounds.interval(range(1, 61))[1:] == (22, 39)
    assert rounds.interval([3, 1, 2]) == (2, 1, 3)
    assert rounds.interval([5]) == (5, 5, 5)


def test_an_interval_is_narrow_when_both_sides_are():
    assert rounds.is_narrow([1.00, 1.01, 1.02])
    assert not rounds.is_narrow([1.00, 1.01, 1.05])
    assert not rounds.is_narrow([0.97, 1.01, 1.02])


def test_a_verdict_needs_the_whole_interval():
    assert [rounds.verdict(*ends) for ends in ((1.01, 1.2), (0.99, 1.2), (0.8, 0.99))] == [
        "faster", "undecided", "slower"]


def test_a_returned_file_is_equal_only_where_the_interval_is_narrow():
    ends = {"faster": (1.02, 1.01, 1.03), "equal": (1.0, 0.981, 1.019),
            "slower": (0.98, 0.97, 0.99), "wide": (1.0, 0.97, 1.01)}
    assert {name: rounds.returned_verdict(*figures) for name, figures in ends.items()} == {
        name: name for name in rounds.RETURNED_VERDICTS}
    assert [rounds.is_as_fast(*ends[name]) for name in rounds.RETURNED_VERDICTS] == [
        True, True, True, False]
    assert not rounds.is_as_fast(0.999, 0.9, 1.2), "wide, and below 1"


def race_of(medians_us, rounds_max=9):
    """A race whose rows have these medians in turns of three rounds, of which all count."""
    rows = [comparison.Row(name, None, turns=[participants.Turn(us, us, us, 3) for us in turns])
            for name, turns in medians_us.items()]
    entries = [interleaved.Round(0, 0.0, (), None)] * 3
    return comparison.Race(comparison.ModelResult("a", "0", 1, rows, entries), None,
                           types.SimpleNamespace(rounds=3, rounds_max=rounds_max,
                                                 model_seconds_max=None))


def test_rounds_go_on_until_the_returned_file_is_decided_in_every_peer():
    turns = {"onnxruntime": [200, 200, 200], "openvino": [300, 300, 300], "plait": [100, 100, 100],
             "onnxruntime+plait": [199, 200, 201], "openvino+plait": [300, 301, 302]}
    assert race_of(turns).is_enough()
    wide = turns | {"openvino+plait": [292, 300, 308]}
    assert not race_of(wide).is_enough(), "within 3 %, but 2 % are wanted"
    assert race_of(wide, rounds_max=3).is_enough(), "there are as many as there may be"
    # What is slower beyond its interval is measured on as what is faster.
    for us in ([200, 220, 230], [170, 180, 195]):
        assert not race_of(turns | {"onnxruntime+plait": us}).is_enough()
    assert not race_of(turns | {"plait": [95, 100, 105]}).is_enough(), "the rule of the peers"
    assert race_of({name: turns[name] for name in ("onnxruntime", "plait")}).is_enough()


def test_a_model_that_has_had_its_time_ends_with_six_rounds_that_count(monkeypatch):
    race = race_of({"onnxruntime": [200] * 3, "plait": [90, 100, 110]}, rounds_max=99)
    race.arguments.model_seconds_max = 0
    assert not race.is_enough(), "three rounds are too few for an interval"
    rows = race.result.rows
    for row in rows:
        row.turns *= 2
    race.result.rounds *= 2
    assert race.is_enough()
    monkeypatch.setattr(race, "_run_round", lambda *_: pytest.fail("another round"))
    monkeypatch.setattr(race, "_enter", lambda *_: None)
    monkeypatch.setattr(race.machine_watch, "start", lambda *_: None)
    race.arguments.beside_spinner = True
    race._run_load(1, 5)
    race.arguments.model_seconds_max = None
    assert not race.is_enough()


def test_what_is_loaded_first_is_loaded_last_in_the_next_load(monkeypatch):
    race = race_of({"onnxruntime": [2] * 3, "plait": [1] * 3, "onnxruntime+plait": [2] * 3})
    loaded = []
    monkeypatch.setattr(race, "_enter", lambda row, _: loaded.append(row.runtime) or row.runtime)
    names = [row.runtime for row in race.result.rows]
    for load in range(comparison.LOADS):
        assert race._enter_all(load, None) == names
    assert loaded == (names + names[::-1]) * (comparison.LOADS // 2)


def test_long_rounds_are_told_while_they_are_taken(monkeypatch, capsys):
    race = race_of({"plait": [100, 100, 100]})
    race.arguments.pause_ms = 0
    put_off = interleaved.Round(0, 0.0, ("parted",) * 6, "parted")
    monkeypatch.setattr(interleaved, "take_round", lambda *_: ({}, put_off))
    race._run_round([None], 0)
    assert capsys.readouterr().err == "", "nobody waits yet"
    monkeypatch.setattr(comparison, "TOLD_EVERY_SECONDS", 0)
    race._run_round([None], 0)
    assert capsys.readouterr().err == (
        "a: rounds: 5, of which 2 do not count; turns taken again: 12\n")


def test_turns_are_taken_again_for_the_machine_and_not_for_what_they_show():
    machine = rounds.usual([rounds.Reading(*rates) for rates in (
        (400, 20), (390, 19), (200, 18), (210, 9))])
    assert machine == rounds.Reading(400, 20, False), "that is the upper quartile"
    assert rounds.disturbance(rounds.Reading(361, 15.1, False), machine) is None
    assert "gflops was 52%" in rounds.disturbance(rounds.Reading(210, 20, False), machine)
    assert "gbps was 50%" in rounds.disturbance(rounds.Reading(400, 10, False), machine)
    assert "parted" in rounds.disturbance(rounds.Reading(400, 20, True), machine)
    parted = rounds.Reading(400, 20, True)
    assert rounds.disturbance(parted, rounds.usual([parted] * 3 + [machine])) is None, "by nature"
    unknown = rounds.Reading()
    assert rounds.disturbance(unknown, rounds.usual([unknown])) is None, "no reading, no reason"


def test_rounds_are_dropped_for_time_that_the_host_took():
    assert rounds.reason_to_drop(0.005) is None and rounds.reason_to_drop(None) is None
    assert "took 2.0%" in rounds.reason_to_drop(0.02)


class Yardstick:
    """Tells far threads where it is told to, and else an undisturbed machine."""

    def __init__(self, *are_far):
        self.are_far = list(are_far)

    def ask(self, request, *fields):
        assert set(fields) == {"multiply_add_gflops", "read_gbps", "are_threads_far"}
        return {"multiply_add_gflops": 400, "read_gbps": 20, "are_threads_far": self.are_far.pop(0)}


def watch_that_reads(monkeypatch, *are_far, wait_seconds=0):
    """A MachineWatch, usually undisturbed, whose next readings are these."""
    monkeypatch.setattr(rounds, "QUIET_WAIT_SECONDS", wait_seconds)
    monkeypatch.setattr(machine_watch, "BETWEEN_SECONDS", 0)
    watch = machine_watch.MachineWatch()
    watch.readings = [rounds.Reading(400, 20, False)] * 12
    watch.yardstick = Yardstick(*are_far)
    return watch


def take_turn(monkeypatch, tries, *are_far, wait_seconds=0):
    """What is taken of turns that return 1, 2 .., and how many were disturbed."""
    watch = watch_that_reads(monkeypatch, *are_far, wait_seconds=wait_seconds)
    turns = itertools.count(1)
    taken, disturbances = watch.take(lambda: next(turns), 0, tries)
    assert not watch.yardstick.are_far, "read before and behind each turn"
    return taken, len(disturbances)


def test_a_turn_is_the_first_with_an_undisturbed_moment_on_either_side(monkeypatch):
    assert take_turn(monkeypatch, 6, False, False) == (1, 0)
    # Disturbed before it, then behind it, then not.
    assert take_turn(monkeypatch, 6, True, False, True, False, False) == (2, 2)
    # The last is taken, come what may, so that every participant has numbers.
    assert take_turn(monkeypatch, 2, True, True) == (1, 2)
    assert take_turn(monkeypatch, 1, False, True) == (1, 1)
    # What passes while it is waited for disturbs nothing.
    assert take_turn(monkeypatch, 1, True, True, False, False, wait_seconds=60) == (1, 0)


def test_the_summary_is_a_geometric_mean_with_verdicts():
    models = [{"peer_ratio": {"median": 2.0, "low": 1.9, "high": 2.1}},
              {"peer_ratio": {"median": 0.5, "low": 0.4, "high": 0.6}}, {"peer_ratio": None}]
    assert report.summary(models) == ("the better peer / plait over 2 models: 1.000 "
                                      "(plait: 1 faster, 0 undecided, 1 slower)")
