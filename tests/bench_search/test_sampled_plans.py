"""bench/search/sampled_plans on a small model, and how judge_samples judges its lines."""

import json
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"

pytestmark = pytest.mark.skipif(not (BUILD / "sampled_plans").exists(),
                                reason="sampled_plans is not built")


def call(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          timeout=300, check=False)


def line_of(model, number, latency_us, error=1.0, waits=0):
    """A plan of two steps, the second of which waits for another stream where it is asked to."""
    first = [latency_us * error / 2, 0, True, 1.0, 1000, []]
    second = [latency_us * error / 2, waits, waits == 0, 1.0, 1000, [0] if waits else []]
    return {"model": model, "sample": number, "rewrites": 0, "policy": "plait",
            "predicted_us": latency_us * error, "latency_us": [latency_us, latency_us],
            "baseline_us": [100.0, 100.0], "steps": [first, second]}


def judge(tmp_path, lines):
    path = tmp_path / "samples.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = call(BUILD / "judge_samples", path)
    assert done.returncode == 0, done.stderr
    rows = {}
    for line in done.stdout.splitlines()[2:]:
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) > 1:
            rows[cells[0]] = cells[1:]
    return rows


def test_plans_are_different_and_measured_twice(tmp_path):
    done = call(sys.executable, ROOT / "bench" / "models" / "light.py", "--out", tmp_path,
                "tiny_inception")
    assert done.returncode == 0, done.stderr
    out = tmp_path / "samples.jsonl"
    command = (BUILD / "sampled_plans", 9, out, tmp_path / "tiny_inception.onnx")
    done = call(*command)
    assert done.returncode == 0, done.stderr
    samples = [json.loads(line) for line in out.read_text().splitlines()]
    assert [sample["sample"] for sample in samples] == list(range(9))
    assert len({json.dumps(sample["steps"]) for sample in samples}) > 3
    assert len({sample["policy"] for sample in samples}) > 1
    assert any(sample["rewrites"] for sample in samples)
    for sample in samples:
        assert len(sample["latency_us"]) == len(sample["baseline_us"]) == 2
        assert min(sample["latency_us"] + sample["baseline_us"]) > 0
        assert 0 < sample["predicted_us"] <= sum(step[0] for step in sample["steps"]) * 1.0001
    rows = judge(tmp_path, samples)
    assert rows["tiny_inception"][0] == "9"

    again = call(*command)
    assert again.returncode == 0 and "already" in again.stdout
    assert len(out.read_text().splitlines()) == 9


def test_what_a_constant_explains_is_fitted_and_the_rest_is_an_error(tmp_path):
    # A hand-over takes 5 us, of which the simulator knows nothing.
    lines = [line_of("handed_over", i, 50.0 + 10 * i, waits=1) for i in range(8)]
    for line in lines:
        line["latency_us"] = [latency_us + 5 for latency_us in line["latency_us"]]
    rows = judge(tmp_path, lines)
    plans, span, rank, error, fitted_rank, fitted_error, again_rank, again_error = rows[
        "handed_over"]
    assert (plans, span) == ("8", "2.27")
    assert rank == fitted_rank == again_rank == "1.000"
    assert again_error == fitted_error == "0.0 %"
    assert float(error.split()[0]) > 3


def test_the_worst_model_is_told(tmp_path):
    good = [line_of("good", i, 50.0 + 10 * i) for i in range(8)]
    bad = [line_of("bad", i, 50.0 + 10 * i, error=3.0 - 0.3 * i) for i in range(8)]
    rows = judge(tmp_path, good + bad)
    assert rows["good"][2] == "1.000" and float(rows["bad"][2]) < 1
    assert rows["worst"][2] == rows["bad"][2]


def test_a_file_without_samples_is_named(tmp_path):
    path = tmp_path / "nothing.jsonl"
    path.write_text("")
    done = call(BUILD / "judge_samples", path)
    assert done.returncode == 1 and "has no samples" in done.stderr
    whole = line_of("a", 0, 50.0)
    for missing in ("baseline_us", "latency_us", "steps"):
        path.write_text(json.dumps({name: whole[name] for name in whole if name != missing}))
        done = call(BUILD / "judge_samples", path)
        assert done.returncode == 1 and "nothing.jsonl" in done.stderr and missing in done.stderr
    path.write_text(json.dumps(whole | {"steps": [[1.0]]}))
    assert call(BUILD / "judge_samples", path).returncode == 1
