"""What bench/peers says of files that jobs have returned: the runtime that is recommended, and what
becomes of a file elsewhere."""

import json
import re
import subprocess
import sys

import onnx
import pytest
from test_peers import PLAIT, ROOT, call, light, optimize

import moved  # found through test_peers
import recommended
import records

TURNS = {"onnxruntime": 30.0, "onnxruntime+plait": 30.0, "openvino+plait": 20.0,
         "plait": 10.0, "plait-session": 11.0}


def measured(name, turns):
    """An entry of peers.py: three rounds, of which the second does not count."""
    rows = [{"runtime": runtime, "rounds": [{"median": us}, {"median": 1.0}, {"median": us}]}
            for runtime, us in turns.items()]
    rounds = [{"dropped": reason} for reason in (None, "steal", None)]
    ratio = {"median": 1.0, "low": 0.99, "high": 1.01}
    return {"name": name, "runtimes": rows, "rounds": rounds, "digests": {"plait": f"of {name}"},
            "returned_ratios": {"onnxruntime": ratio}}


def job_of(name, runtime):
    return {"recommended": runtime and {"runtime": runtime}, "optimized": {"body": "original"},
            "output": {"digest": f"of {name}"}}


def test_the_session_stands_for_plait_and_dropped_rounds_do_not_count():
    entry = measured("a", TURNS)
    assert recommended.judge(entry, job_of("a", "plait"))[1:] == (
        "plait", {"median": 1.0, "low": 1.0, "high": 1.0})
    _, fastest, ratio = recommended.judge(entry, job_of("a", "openvino"))
    assert fastest == "plait" and ratio["median"] == pytest.approx(20 / 11)
    # Where no session was measured, plait's own program is asked.
    alone = {name: us for name, us in TURNS.items() if name != "plait-session"}
    assert recommended.judge(measured("a", alone), job_of("a", "openvino"))[2]["median"] == 2


def test_nothing_follows_where_no_round_counts():
    entry = measured("a", TURNS) | {"rounds": [{"dropped": "steal"}] * 3}
    assert recommended.judge(entry, job_of("a", "plait")) == ("plait", "unknown", None)


def judge(tmp_path, *jobs, options=()):
    """Runs recommended.py on figures of the models a, b and c, and these jobs."""
    (tmp_path / "peers.json").write_text(json.dumps(
        {"models": [measured(name, TURNS) for name in "abc"]}))
    (tmp_path / "jobs.json").write_text(json.dumps({"schema_version": 1, "jobs": jobs}))
    return call(sys.executable, ROOT / "bench/peers/recommended.py", tmp_path / "peers.json",
                tmp_path / "jobs.json", *options)


def test_as_many_as_were_asked_for_have_to_be_as_good(tmp_path):
    # The last one recommends nothing, as where nothing was measured.
    jobs = job_of("a", "plait"), job_of("b", "openvino"), job_of("c", None)
    done = judge(tmp_path, *jobs)
    assert done.returncode == 1 and "within 2% of the fastest: 1 of 3" in done.stdout
    assert judge(tmp_path, *jobs, options=("--share-min", 0.3)).returncode == 0


def test_a_file_that_no_job_returned_is_not_judged(tmp_path):
    done = judge(tmp_path, job_of("a", "plait"), job_of("b", "plait"), job_of("other", "plait"))
    assert done.returncode == 1 and "c: no job returned the file" in done.stderr


def test_a_plan_of_a_later_version_is_not_used(tmp_path):
    model = light.write("tiny_resnet", tmp_path)
    optimize(model)
    changed = moved.with_newer_plan(tmp_path / "optimized" / model.name, tmp_path)
    told = subprocess.run([PLAIT, "plans", changed, "--json"], capture_output=True, text=True,
                          check=False)
    assert "version" in told.stdout + told.stderr
    assert len(onnx.load(str(changed)).graph.node) == len(onnx.load(str(model)).graph.node)


def test_a_session_that_is_missing_is_told_for_each_situation(tmp_path):
    model = light.write("tiny_resnet", tmp_path)
    command = (sys.executable, ROOT / "bench/peers/moved.py", model, model, "--situations",
               "one core,newer", "--rounds", 1, "--round-ms", 1)
    assert call(*command).returncode == 2
    kept = tmp_path / "moved.json"
    done = call(*command[:-5], "one core", *command[-4:], "--json", kept)
    record = json.loads(kept.read_text())
    assert record["machine"]["cpuid"]["flags"] and re.fullmatch(r"\d{4}-\d\d-\d\d", record["date"])
    told = json.loads(call(PLAIT, "version", "--json").stdout)
    assert record["versions"]["plait program"] == told["version"]
    assert record["digests"] == dict.fromkeys(("model", "optimized"), records.digest(model))
    if call(sys.executable, "-c", "import plait").returncode == 0:
        assert done.returncode == 0 and "kernels are chosen" in done.stdout
    else:
        assert done.returncode == 1 and "No module named 'plait'" in done.stdout
