"""bench/search/optimize_models.py on a small model: every step runs and every figure is there."""

import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "bench" / "search" / "optimize_models.py"


def run(*words):
    return subprocess.run([sys.executable, str(SCRIPT), *map(str, words)], capture_output=True,
                          text=True, timeout=300, check=False)


def write_model(folder, name="tiny_bert"):
    subprocess.run([sys.executable, str(ROOT / "bench" / "models" / "light.py"), "--out",
                    str(folder), name], check=True, capture_output=True)
    return folder / f"{name}.onnx"


def test_a_small_model_goes_through_all_steps(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    model = write_model(tmp_path)
    kept = tmp_path / "PROCESSOR" / "DATE-optimize.json"
    done = run(model, "--out", tmp_path / "out", "--budget", "20s", "--json", kept,
               "--ort-python", sys.executable)
    assert done.returncode == 0, done.stdout + done.stderr
    (kept,) = tmp_path.glob("*/*-optimize.json")
    results = json.loads(kept.read_text())
    assert kept.name == f"{results['date']}-optimize.json"
    fingerprint = results["models"]["tiny_bert"]["optimize"]["device"]["fingerprint"]
    # Vendor, family, model, stepping, features, caches: a name that no other processor has.
    assert re.fullmatch(r"\w+-\d+-\d+-\d+-[0-9a-f]{8}-l2-\d+K-l3-\d+K", kept.parent.name)
    assert kept.parent.name in fingerprint
    assert results["failures"] == {}
    assert len(results["devices"]) == 2
    assert all(device["yardsticks"]["read_bytes_per_us"] > 0 for device in results["devices"])
    entry = results["models"]["tiny_bert"]
    assert entry["optimize"]["equivalence"]["verdict"] == "equivalent"
    # What is known is not measured again. A search with times of another moment may still ask for
    # kernels that the first one never met.
    again = entry["optimize_again"]
    assert again["profiles_measured"] + again["profiles_cached"] > 0
    unsteady = entry["optimize"]["search"]["profiles_unsteady"]
    assert again["profiles_measured"] - unsteady < again["profiles_cached"] / 4
    assert entry["gain_in_bench"]["median"] > 0 and entry["gain_of_plan"]["median"] > 0
    assert entry["onnxruntime"]["max_rel_error"] < 1e-3
    assert "geometric mean of 1" in done.stdout
    assert (tmp_path / "out" / "baseline" / "tiny_bert.onnx").is_file()


def test_a_file_that_is_no_model_has_a_row_that_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(b"this is no model")
    done = run(broken, "--out", tmp_path / "out", "--budget", "1s")
    assert done.returncode == 1
    assert "| broken | failed: optimize: exit code 3" in done.stdout


def test_a_plan_that_is_ignored_is_a_failure_and_not_a_figure(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    # Its bench finds that no plan of a file fits.
    other = tmp_path / "plait"
    other.write_text(f'#!/bin/sh\n"{ROOT}/build/plait" "$@" | {{ [ "$1" = bench ] && '
                     """sed 's/"grade": "exact"/"grade": "default"/' || cat; }\n""")
    other.chmod(0o755)
    done = run(write_model(tmp_path), "--out", tmp_path / "out", "--budget", "1s",
               "--plait", other)
    assert done.returncode == 1
    assert "| tiny_bert | failed: bench: " in done.stdout


def test_a_model_with_an_open_dimension_has_figures(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    done = run(write_model(tmp_path, "tiny_dynamic"), "--out", tmp_path / "out", "--budget", "3s")
    assert done.returncode == 0, done.stdout + done.stderr
