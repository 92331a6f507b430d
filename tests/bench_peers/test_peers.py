"""bench/peers on small models: real runtimes, and no figure for a plan that was ignored."""

import json
import pathlib
import subprocess
import sys

import onnx
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLAIT = ROOT / "build" / "plait"
sys.path.insert(0, str(ROOT / "bench" / "models"))

import light  # noqa: E402 (found through the line above)


def call(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          timeout=300, check=False)


def check_equal(*words):
    return call(sys.executable, ROOT / "bench" / "peers" / "check_equal.py", *words)


def compare(model, *options):
    """Runs peers.py on the model; returns the process and the rows of its JSON by runtime."""
    kept = model.parent / "peers.json"
    done = call(sys.executable, ROOT / "bench" / "peers" / "peers.py", model, "--runtimes",
                "onnxruntime,plait", "--rounds", 2, "--round-ms", 1, "--pause-ms", 0,
                "--json", kept, *options)
    (result,) = json.loads(kept.read_text())["models"]
    return done, {row["runtime"]: row for row in result["runtimes"]}


@pytest.fixture(name="model")
def fixture_model(tmp_path, monkeypatch):
    """Returns a small model; its optimized file lies in the folder `optimized` beside it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    model = light.write("tiny_resnet", tmp_path)
    (tmp_path / "optimized").mkdir()
    done = call(PLAIT, "optimize", model, "-o", tmp_path / "optimized" / model.name,
                "--budget", "3s", "--threads", 2)
    assert done.returncode == 0, done.stderr
    return model


def test_check_equal_tells_equal_from_different(tmp_path):
    first = light.write("tiny_sru", tmp_path / "a")
    second = light.write("tiny_sru", tmp_path / "b", seed=1)
    same = check_equal(first, first, "--json")
    assert same.returncode == 0 and json.loads(same.stdout)["max_rel_error"] == 0
    assert check_equal(first, second).returncode == 12
    assert check_equal(first, second, "--tolerance", 1e3).returncode == 0
    assert check_equal(first, tmp_path / "none.onnx").returncode == 1


def test_a_small_model_is_timed_by_every_runtime(model):
    done, rows = compare(model, "--optimized", model.parent / "optimized")
    assert done.returncode == 0, done.stdout + done.stderr
    assert set(rows) == {"onnxruntime", "plait", "onnxruntime+plait"}
    for row in rows.values():
        assert row["latency_us_median"] > 0 and len(row["rounds"]) == 2
        assert row["max_rel_error"] < 1e-4
    told = json.loads(call(PLAIT, "version", "--json").stdout)
    assert rows["plait"]["version"] == told["version"]
    assert rows["plait"]["load_ms"] is None, "each round loads the model anew, nothing was timed"


def test_a_runtime_that_is_missing_has_a_row_that_says_so(tmp_path):
    model = light.write("tiny_sru", tmp_path)
    done, rows = compare(model, "--plait", tmp_path / "plait")
    assert "plait is not built" in done.stdout and done.returncode == 1
    assert rows["onnxruntime"]["latency_us_median"] > 0
    assert rows["plait"]["failure"] == "plait is not built"


def test_a_program_that_is_not_plait_has_a_row_that_says_so(tmp_path):
    done, rows = compare(light.write("tiny_sru", tmp_path), "--plait", "/bin/true")
    assert done.returncode == 1 and not done.stderr
    assert "version printed something else" in rows["plait"]["failure"]


def test_a_plan_that_is_ignored_is_a_failure_and_not_a_figure(model):
    optimized = model.parent / "optimized" / model.name
    changed = onnx.load(optimized)
    (version,) = (entry for entry in changed.metadata_props if entry.key == "plait.version")
    version.value = "plait-9.9.9"
    onnx.save(changed, optimized)
    done, rows = compare(model, "--optimized", model.parent / "optimized")
    assert done.returncode == 1
    assert "is ignored" in rows["plait"]["failure"] and "latency_us_median" not in rows["plait"]
    assert rows["onnxruntime"]["latency_us_median"] > 0
