"""bench/gpu/jobs.py: models through a real daemon and worker, here of the processor."""

import json
import pathlib
import re
import subprocess
import sys

import pytest

import claims
import jobs
import judgements_of_jobs as of_jobs
import recorded

ROOT = pathlib.Path(claims.__file__).parents[2]
SCRIPT = ROOT / "bench" / "gpu" / "jobs.py"
PROGRAMS = ROOT / "build"

pytestmark = pytest.mark.skipif(not (PROGRAMS / "plaitd").is_file(),
                                reason="plait is not built")


def run(out, *words):
    return subprocess.run([sys.executable, SCRIPT, "--out", out, "--device", "cpu", *words],
                          capture_output=True, text=True, timeout=300, check=False)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    subprocess.run([sys.executable, ROOT / "bench/models/light.py", "--out", folder,
                    "tiny_resnet"], check=True, capture_output=True)
    return folder / "tiny_resnet.onnx"


def test_reports_become_entries_that_are_made_once(tmp_path, model):
    out = tmp_path / "jobs.json"
    words = ("--programs", PROGRAMS, "--models", f"{model},{tmp_path}/none.onnx",
             "--settings", "strict,sequential", "--job-seconds", "10", "--call", "one")
    done = run(out, *words)
    assert done.returncode == 1, "one of them is no model"
    assert done.stdout.count("failed: none, ") == 2
    entries = json.loads(out.read_text())
    assert [(entry["model"], entry["setting"]) for entry in entries] == [
        ("tiny_resnet", "strict"), ("tiny_resnet", "sequential")]
    for entry in entries:
        assert entry["equivalence"]["verdict"] == "equivalent"
        assert entry["speedup"][0] <= entry["speedup"][1] <= entry["speedup"][2]
        assert entry["call"] == "one"
        assert entry["command"].startswith("plait optimize MODEL --device cpu")
    assert entries[1]["streams"] == 1 and "--schedule sequential" in entries[1]["command"]
    # What is there is not done again, and tables take it.
    again = run(out, "--programs", PROGRAMS, "--models", str(model), "--settings", "strict")
    assert again.returncode == 0 and json.loads(out.read_text()) == entries
    assert recorded.jobs_table(entries, {})[0][1][0] == "tiny_resnet"
    (tmp_path / "peers.json").write_text('{"entries": []}')
    assert of_jobs.equivalence(claims.Recorded(tmp_path))[0] == claims.CONFIRMED


def entries_of(pairs, out):
    """A recorder of a file that has these."""
    out.write_text(json.dumps([{"setting": setting, "model": model} for setting, model in pairs]))
    arguments = jobs.parse(["--programs", ".", "--out", str(out)])
    return [job[:2] for job in jobs.Recorder(arguments, None).wanted()]


def test_the_most_valuable_jobs_come_first(tmp_path):
    order = entries_of([], tmp_path / "jobs.json")
    assert order[:6] == [("strict", "inception_v3"), ("strict", "nasnet_mobile"),
                         ("sequential", "inception_v3"), ("sequential", "nasnet_mobile"),
                         ("strict", "resnet50"), ("strict", "bert_base")]
    assert {setting for setting, _ in order[6:14]} == set(jobs.POLICIES) - {"sequential"}
    # Each setting has all of its models, each once, and every policy that there is.
    assert len(order) == len(set(order))
    for setting, (models, _) in jobs.SETTINGS.items():
        assert {model for one, model in order if one == setting} == set(models)
    listed = (ROOT / "optimizer/schedule/policies.def").read_text()
    named = set(re.findall(r"^PLAIT_POLICY\((\w+)", listed, re.MULTILINE))
    assert named == {*jobs.POLICIES, "plait"}
    assert entries_of(order[:9], tmp_path / "jobs.json") == order[9:]


def test_a_device_that_nobody_serves_is_told(tmp_path, model):
    done = subprocess.run([sys.executable, SCRIPT, "--out", tmp_path / "jobs.json", "--programs",
                           PROGRAMS, "--device", "cuda:250", "--models", str(model),
                           "--start-seconds", "4"],
                          capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1 and "no worker serves cuda:250" in done.stdout
    assert "worker.ended" in done.stdout, "why is in the daemon's log"
