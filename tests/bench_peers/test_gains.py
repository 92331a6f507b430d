"""The table of docs/gains.md is what its command prints."""

import json
import re
import shlex
import sys

from test_peers import ROOT, call

TEXT = (ROOT / "docs/gains.md").read_text()
COMMAND = re.search(r"```\n(bench/peers/gains\.py .*?)\n```", TEXT, re.DOTALL).group(1)


def gains(*peers):
    done = call(sys.executable, ROOT / "bench/peers/gains.py", *peers)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_the_table_is_what_its_command_prints():
    files = shlex.split(COMMAND.replace("\\\n", " "))[1:]
    table = [line for line in TEXT.splitlines() if line.startswith("|")]
    assert gains(*(ROOT / file for file in files)) == table


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
    *_, first, again, other, mean = gains(path)
    assert first == "| a | 2.00 | 2.000 [1.990, 2.010] | 3.00 | - | 1.00 | 3.000 [2.990, 3.010] |"
    assert again.startswith("| a, again |") and again.endswith("| 1.00 | - |")
    assert "| b |" in other
    assert "2.000 (3 faster, 0 undecided, 0 slower)" in mean
    assert "1.500 (1 faster, 0 undecided, 1 slower)" in mean
