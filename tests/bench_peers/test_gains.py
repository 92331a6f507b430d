"""The table of docs/gains.md, and what follows it, is what its command prints."""

import json
import re
import shlex
import sys

import pytest
from test_peers import ROOT, call

GAINS = ROOT / "bench/peers/gains.py"
TEXT = (ROOT / "docs/gains.md").read_text()
COMMAND = re.search(r"```\n(bench/peers/gains\.py .*?)\n```", TEXT, re.DOTALL).group(1)


def gains(*peers):
    done = call(sys.executable, GAINS, *peers)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_the_document_is_what_its_command_prints():
    files = shlex.split(COMMAND.replace("\\\n", " "))[1:]
    printed = gains(*(ROOT / file for file in files))
    assert printed == TEXT[TEXT.index("| model |"):].splitlines()


def test_every_model_below_1_has_a_reason_and_every_reason_a_model():
    below = re.findall(r"^- ([\w.]+)[^:]*: (.*)$", TEXT, re.MULTILINE)
    assert below and dict(below) == json.loads((ROOT / "bench/peers/reasons.json").read_text())


def figures(median):
    return {"median": median, "low": median - 0.01, "high": median + 0.01}


def entry(name, session):
    rows = [("onnxruntime", 4000), ("onnxruntime+plait", 2000), ("openvino", 3000),
            ("plait-session", 1000)]
    return {"name": name, "session_ratio": session,
            "returned_ratios": {"onnxruntime": figures(2.0)},
            "runtimes": [*({"runtime": runtime, "latency_us_median": latency_us}
                           for runtime, latency_us in rows),
                         {"runtime": "openvino+plait", "failure": "it crashed"}]}


def test_a_runtime_without_a_figure_has_none(tmp_path):
    path = tmp_path / "peers.json"
    path.write_text(json.dumps({"models": [entry("a", figures(3.0)), entry("a", None),
                                           entry("b", figures(0.75))]}))
    *_, first, again, other, mean, _, count, reason = gains(path)
    assert count == "Below 1 in plait: 1 of 3."
    assert reason == "- b, 0.750 [0.740, 0.760], slower: no reason is known"
    assert first == ("| a | 2.00 | 2.000 [1.990, 2.010], faster | 3.00 | - "
                     "| 1.00 | 3.000 [2.990, 3.010], faster |")
    assert again.startswith("| a, again |") and again.endswith("| 1.00 | - |")
    assert "| b |" in other
    assert "2.000 (3 faster, 0 equal, 0 wide, 0 slower)" in mean
    assert "1.500 (1 faster, 0 undecided, 1 slower)" in mean


def ratio(low, median, high):
    return {"median": median, "low": low, "high": high}


@pytest.mark.parametrize("figures_there, verdict, does_pass", [
    (ratio(1.01, 1.05, 1.2), "faster", True), (ratio(0.99, 1.0, 1.01), "equal", True),
    (ratio(0.98, 0.99, 1.0), "equal", True), (ratio(0.9, 1.01, 1.2), "wide", True),
    (ratio(0.9, 0.99, 1.01), "wide", False), (ratio(0.97, 0.98, 0.99), "slower", False),
    (None, "-", False)])
def test_a_file_that_is_slower_somewhere_is_a_miss(tmp_path, figures_there, verdict, does_pass):
    judged = entry("a", figures(2.0))
    judged["returned_ratios"] = {"onnxruntime": figures(2.0)}
    if figures_there:
        judged["returned_ratios"]["openvino"] = figures_there
    path = tmp_path / "peers.json"
    path.write_text(json.dumps({"models": [judged]}))
    done = call(sys.executable, GAINS, path, "--judge")
    assert verdict in done.stdout.splitlines()[2].split("|")[5]
    assert done.returncode == (0 if does_pass else 1), done.stderr
    assert ("a in OpenVINO" in done.stderr) != does_pass and "ONNX Runtime" not in done.stderr


def test_bodies_are_counted_and_what_is_no_rewrite_is_noise(tmp_path):
    wide = ratio(0.9, 0.99, 1.01)
    entries = [entry(name, figures(2.0)) | {
        "digests": {"plait": name}, "returned_ratios": {"onnxruntime": there, "openvino": there}}
               for name, there in (("a", wide), ("b", figures(1.1)), ("c", figures(1.2)))]
    jobs = [{"optimized": {"body": body}, "model": {"opaque_nodes": opaque},
             "output": {"digest": name}}
            for name, body, opaque in (("a", "original", []), ("b", "portable", []),
                                       ("c", "searched", ["n1", "n2"]))]
    # Four rounds, of which one does not count; the original takes longer in one of the others.
    entries[0] |= {"rounds": [{"dropped": None}] * 3 + [{"dropped": "parted"}], "runtimes": [
        {"runtime": runtime, "latency_us_median": 2, "rounds": [{"median": us} for us in times]}
        for runtime, times in (("onnxruntime", (2, 2, 2, 9)), ("onnxruntime+plait", (1, 2, 3, 1)))]}
    peers, record = tmp_path / "peers.json", tmp_path / "jobs.json"
    peers.write_text(json.dumps({"models": entries}))
    record.write_text(json.dumps({"schema_version": 1, "jobs": jobs}))
    done = call(sys.executable, GAINS, peers, "--jobs", record, "--judge")
    assert "Below 1 in plait: none of 3." in done.stdout
    counted, rewritten, searched, originals, slower = done.stdout.splitlines()[-5:]
    assert counted == "Of 3 bodies 2 were rewritten; opaque nodes: 2."
    assert rewritten.startswith("- b, portable: ONNX Runtime 1.100 [1.090, 1.110], faster, OpenV")
    assert searched.startswith("- c, searched:")
    assert "noise: ONNX Runtime 0.990 (0 faster, 0 equal, 1 wide, 0 slower)" in originals
    assert slower.endswith("half but for a bias: ONNX Runtime 1 of 3 (1.000), OpenVINO -")
    assert done.returncode == 1 and done.stderr.splitlines() == [
        "gains.py: a in ONNX Runtime: 0.990 [0.900, 1.010], wide (the original's bytes)",
        "gains.py: a in OpenVINO: 0.990 [0.900, 1.010], wide (the original's bytes)",
        "gains.py: c: 2 opaque nodes"]


@pytest.mark.parametrize("name, does_pass", [("unheard_of", False), ("resnet50_int8", True)])
def test_a_model_that_is_slower_in_plait_for_no_known_reason_is_a_miss(tmp_path, name, does_pass):
    slow = entry(name, figures(0.9)) | {
        "returned_ratios": {"onnxruntime": figures(2.0), "openvino": figures(2.0)}}
    (tmp_path / "peers.json").write_text(json.dumps({"models": [slow]}))
    done = call(sys.executable, GAINS, tmp_path / "peers.json", "--judge")
    assert done.returncode == (0 if does_pass else 1)
    assert ("unheard_of in plait: 0.900" in done.stderr) != does_pass
