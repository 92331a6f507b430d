"""bench/search/searched_rules.py: its verdicts, its table, and a run on a small model."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("PLAIT_BUILD", ROOT / "build"))
sys.path.insert(0, str(ROOT / "bench" / "search"))

import searched_rules  # noqa: E402 (found through the line above)


def row_of(model, median, low, high, rules=("merge_convs",)):
    job = {"origin": "searched", "rules_applied": {"gelu_from_erf": 2}, "candidates": 7,
           "seconds": 3.2, "plan": "one"}
    ratio = {"median": median, "low": low, "high": high}
    return {"model": model, "budget": "60s", "gate_budget": "120s", "gate": {"ratio": ratio},
            "searched": {**job, "plan": "other", "rules_applied": {"gelu_from_erf": 3, **{
                rule: 1 for rule in rules}}}, "without": job}


@pytest.mark.parametrize("median, low, high, verdict", [
    (1.2, 1.1, 1.3, "beats"), (1.01, 1.0, 1.02, "undecided"), (1.1, 0.9, 1.3, "undecided"),
    (0.9, 0.8, 0.95, "loses"), (0.9, 0.8, 1.0, "undecided"), (1.2, None, None, "undecided")])
def test_a_verdict_is_of_the_interval(median, low, high, verdict):
    assert searched_rules.verdict_of(row_of("m", median, low, high)) == verdict


def test_one_plan_is_equal_and_two_graphs_are_not():
    row = row_of("m", 1, 0.9, 1.1)
    row["searched"]["plan"] = "one"
    assert searched_rules.verdict_of(row) == "undecided"
    row["searched"]["rules_applied"] = row["without"]["rules_applied"]
    assert searched_rules.verdict_of(row) == "equal"


def test_the_table_names_the_rules_and_counts_the_verdicts(tmp_path, capsys, monkeypatch):
    equal = {**row_of("vit", 1, 1, 1), "gate": None}
    equal["searched"] = equal["without"]
    rows = [row_of("resnet50", 1.21, 1.1, 1.3), equal]
    lines = tmp_path / "lines.jsonl"
    lines.write_text("".join(json.dumps(row) + "\n" for row in rows))
    monkeypatch.setattr(sys, "argv", ["searched_rules.py", "print", str(lines)])
    assert searched_rules.main() == 0
    table = [[cell.strip() for cell in line.strip("|").split("|")]
             for line in capsys.readouterr().out.splitlines()]
    assert table[2] == ["resnet50", "1.210 [1.100, 1.300]", "beats",
                        "gelu_from_erf x1, merge_convs x1", "7", "3 / 3"]
    assert table[3] == ["vit", "1", "equal", "none", "7", "3 / 3"]
    assert table[4][:3] == ["geometric mean of 2", "1.100",
                            "beats 1, undecided 0, equal 1, loses 0"]


def run(*words):
    return subprocess.run([sys.executable, ROOT / "bench" / "search" / "searched_rules.py",
                           *map(str, words)], capture_output=True, text=True, timeout=300,
                          check=False, env={**os.environ, "PLAIT_RUNTIMES_PYTHON": "none"})


def test_a_small_model_is_measured_once(tmp_path):
    subprocess.run([sys.executable, ROOT / "bench" / "models" / "light.py", "--out", tmp_path,
                    "tiny_bert"], check=True, capture_output=True)
    lines = tmp_path / "lines.jsonl"
    words = ("measure", tmp_path / "tiny_bert.onnx", "--gate-budget", "5s", "--out", lines,
             "--plait", BUILD / "plait")
    done = run(*words, "--budget", "30s")
    assert done.returncode == 0, done.stderr
    row = json.loads(lines.read_text())
    assert row["model"] == "tiny_bert" and row["budget"] == "30s"
    assert row["without"]["candidates"] == 0 and row["searched"]["candidates"] > 0
    # Neither job was ahead of the other in what it knew of the device.
    assert row["without"]["profiles_measured"] == 0
    # Rules that always win are no searched ones.
    assert row["without"]["rules_applied"].get("gelu_from_erf", 2) == 2
    assert set(row["without"]["rules_applied"]) <= {
        "divide_by_constant", "gelu_from_erf", "layer_normalization_from_mean", "simplify_pow"}
    assert done.stdout.startswith("tiny_bert | ")
    # What is there stays, and rows of another budget are not mixed with it.
    again = run(*words, "--budget", "30s")
    assert again.returncode == 0 and again.stdout == ""
    assert run(*words, "--budget", "31s").returncode == 2
    assert len(lines.read_text().splitlines()) == 1


def test_a_file_that_is_no_model_is_told_and_has_no_row(tmp_path):
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(b"this is no model")
    done = run("measure", broken, "--out", tmp_path / "lines.jsonl", "--plait", BUILD / "plait")
    assert done.returncode == 1 and "optimize" in done.stderr
    assert not (tmp_path / "lines.jsonl").exists()
