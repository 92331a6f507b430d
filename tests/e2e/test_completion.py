"""Completion: the scripts, read and asked by the shells themselves."""

import os
import pty
import re
import select
import subprocess
import time

import pytest

import programs

VERBS = set(re.findall(r"^PLAIT_COMMAND\((\w+)\)",
                       (programs.ROOT / "client" / "commands.def").read_text(), re.MULTILINE))


@pytest.fixture
def script(cli, folder):
    """Writes a shell's script and returns its path."""

    def write(shell):
        path = folder / f"completion.{shell}"
        path.write_text(cli.run("completion", shell).expect(0).out)
        return path

    return write


def bash(script, folder, *words):
    """What bash offers for the last word."""
    asked = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _plait; ' \
            'printf "%s\\n" "${COMPREPLY[@]}"'
    finished = subprocess.run(["bash", "--norc", "-c", asked, "bash", script("bash"), *words],
                              cwd=folder, text=True, capture_output=True, check=True)
    # It completes within a line only there; `compopt` says so, and nothing else may be said.
    assert finished.stderr == ""
    return [line for line in finished.stdout.splitlines() if line]


def fish(script, folder, *words):
    finished = subprocess.run(
        ["fish", "--no-config", "-c", f"source {script('fish')}; complete -C '{' '.join(words)}'"],
        cwd=folder, text=True, capture_output=True, check=True)
    return [line.split("\t")[0] for line in finished.stdout.splitlines()]


@pytest.mark.parametrize("ask", [bash, fish])
def test_verbs_options_and_files_are_completed(script, folder, ask):
    (folder / "a model.onnx").touch()
    assert set(ask(script, folder, "plait", "")) >= {verb.lower() for verb in VERBS}
    assert ask(script, folder, "plait", "ga") == ["gate"]
    assert ask(script, folder, "plait", "gate", "--max-r") == ["--max-regression"]
    assert "--json" in ask(script, folder, "plait", "run", "--")
    assert sorted(ask(script, folder, "plait", "completion", "")) == ["bash", "fish", "zsh"]
    (file,) = ask(script, folder, "plait", "bench", "a")
    assert file.replace("\\", "") == "a model.onnx"
    (file,) = ask(script, folder, "plait", "gate", "x.onnx", "--junit", "a")
    assert file.replace("\\", "") == "a model.onnx"
    assert not ask(script, folder, "plait", "bench", "x.onnx", "--budget", "a")
    assert not ask(script, folder, "plait", "watch", "a")


def typed_in_zsh(script, folder, typed, expected):
    """Types into a zsh at a terminal until `expected` stands there; returns what did."""
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(folder)
        os.execvpe("zsh", ["zsh", "-f", "-i"], {**os.environ, "TERM": "dumb", "PS1": "> "})
    text = ""
    os.write(terminal, f"autoload -U compinit; compinit -u -D; source {script}\n{typed}".encode())
    end = time.monotonic() + 60
    try:
        while time.monotonic() < end and expected not in text:
            if select.select([terminal], [], [], 1)[0]:
                text += os.read(terminal, 4096).decode(errors="replace")
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)
        os.close(terminal)
    return text


@pytest.mark.parametrize("typed, expected", [
    ("plait ga\t", "plait gate "),
    ("plait gate --max-r\t", "--max-regression "),
    ("plait bench sam\t", "plait bench sample.onnx"),
    ("plait completion f\t", "plait completion fish"),
    ("plait optimize --plan-for cpu:threads=2 sam\t", "cpu:threads=2 sample.onnx"),
])
def test_zsh_completes(script, folder, typed, expected):
    (folder / "sample.onnx").touch()
    assert expected in typed_in_zsh(script("zsh"), folder, typed, expected)


def test_an_unknown_shell_is_refused(cli):
    assert "did you mean bash?" in cli.run("completion", "bahs").expect(2).last_error_line
    assert cli.run("completion", "zsh", "--json").expect(0).json["script"].startswith("#compdef")
