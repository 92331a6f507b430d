"""The templates for continuous integration: their scripts, run as the services run them."""

import os
import pathlib
import re
import subprocess

import pytest
import yaml

CI = pathlib.Path(__file__).resolve().parents[2] / "deploy" / "ci"
ACTION = yaml.safe_load((CI / "github" / "action.yml").read_text())
TEMPLATE = yaml.safe_load((CI / "gitlab" / "plait-gate.yml").read_text())[".plait-gate"]
VERDICT_OF_CODE = {0: "pass", 4: "fail", 5: "inconclusive", 3: ""}


@pytest.fixture
def plait(tmp_path):
    """A program that writes down its arguments and ends with a code of one's choice."""
    path = tmp_path / "fake plait"
    path.write_text('#!/bin/sh\nprintf "%s\\n" "$@" > "$WORDS"\nexit "$CODE"\n')
    path.chmod(0o755)
    return path


def run_action(plait, tmp_path, code, **inputs):
    (step,) = ACTION["runs"]["steps"]
    given = {name: str(spec.get("default", "")) for name, spec in ACTION["inputs"].items()}
    given |= {"base": "a b.onnx", "new": "$(touch x).onnx", "plait": str(plait), **inputs}
    environment = {
        name: given[re.fullmatch(r"\$\{\{ inputs\.([a-z-]+) \}\}", value).group(1)]
        for name, value in step["env"].items()}
    output = tmp_path / "output"
    finished = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
        cwd=tmp_path, check=False,
        env={**os.environ, **environment, "CODE": str(code), "WORDS": str(tmp_path / "words"),
             "GITHUB_OUTPUT": str(output), "GITHUB_STEP_SUMMARY": "summary.md"})
    return finished.returncode, output.read_text()


@pytest.mark.parametrize("code", VERDICT_OF_CODE)
def test_the_action_ends_as_the_gate_does(plait, tmp_path, code):
    assert run_action(plait, tmp_path, code) == (code, f"verdict={VERDICT_OF_CODE[code]}\n")


def test_the_action_may_let_an_inconclusive_comparison_pass(plait, tmp_path):
    assert run_action(plait, tmp_path, 5, inconclusive="pass") == (0, "verdict=inconclusive\n")
    assert run_action(plait, tmp_path, 4, inconclusive="pass")[0] == 4


def test_names_of_models_are_no_commands(plait, tmp_path):
    run_action(plait, tmp_path, 0)
    words = (tmp_path / "words").read_text().splitlines()
    assert words[-3:] == ["--", "a b.onnx", "$(touch x).onnx"]
    assert words[:3] == ["gate", "--max-regression", "2%"]
    assert not (tmp_path / "x").exists()


def test_the_gitlab_job_passes_its_variables_on(plait, tmp_path):
    (line,) = TEMPLATE["script"]
    variables = {**TEMPLATE["variables"], "PLAIT_GATE_BASE": "a b.onnx",
                 "PLAIT_GATE_NEW": "c.onnx", "PLAIT_GATE_PROGRAM": str(plait)}
    finished = subprocess.run(
        ["sh", "-c", line], check=False,
        env={**os.environ, **variables, "CODE": "5", "WORDS": str(tmp_path / "words")})
    assert finished.returncode == 5 and TEMPLATE["allow_failure"]["exit_codes"] == 5
    words = (tmp_path / "words").read_text().splitlines()
    assert words[0] == "gate" and words[-3:] == ["--", "a b.onnx", "c.onnx"]
    assert words[words.index("--junit") + 1] == TEMPLATE["artifacts"]["reports"]["junit"]
    assert words[words.index("--markdown") + 1] in TEMPLATE["artifacts"]["paths"]
