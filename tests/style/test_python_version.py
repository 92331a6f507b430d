"""What users install runs in the oldest Python that pyproject.toml names."""

import ast
import builtins
import re
import subprocess
import sys

import pytest

from repository import ROOT, relative, report, tracked

OLDEST = re.search(r'requires-python = ">=3\.(\d+)"', (ROOT / "pyproject.toml").read_text())
MINOR = int(OLDEST.group(1))


def shipped():
    return tracked("runtime/python/*.py", "runtime_worker/*.py")


def vermin(*paths):
    """What the checker of versions says of files whose Python has to be no newer."""
    command = [sys.executable, "-c", "import vermin; vermin.main()", f"--target=3.{MINOR}-",
               "--no-tips", "--eval-annotations", "--violations", *paths]
    finished = subprocess.run(command, text=True, capture_output=True, check=False)
    return finished.returncode, finished.stdout + finished.stderr


def is_type(node):
    """Whether an expression reads like a type: None, a builtin one, a class by its capital."""
    if isinstance(node, ast.Subscript):
        return is_type(node.value)
    if isinstance(node, ast.Constant):
        return node.value is None
    name = getattr(node, "id", getattr(node, "attr", ""))
    return isinstance(getattr(builtins, name, None), type) or bool(
        re.match(r"_?[A-Z]\w*[a-z]", name))


def annotations(tree):
    for node in ast.walk(tree):
        for field in ("annotation", "returns"):
            if (found := getattr(node, field, None)) is not None:
                yield found


def evaluated_unions(text):
    """Lines that evaluate X | Y of types, which is an error before Python 3.10."""
    tree = ast.parse(text)
    is_postponed = "from __future__ import annotations" in text and "get_type_hints" not in text
    unread = {id(node) for annotation in annotations(tree) for node in ast.walk(annotation)
              if is_postponed}
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            if id(node) not in unread and (is_type(node.left) or is_type(node.right)):
                yield node.lineno


def test_shipped_python_is_of_the_oldest_versions_grammar():
    for path in shipped():
        ast.parse(path.read_text(), relative(path), feature_version=(3, MINOR))


def test_shipped_python_calls_nothing_newer():
    code, out = vermin(*shipped())
    assert code == 0, out


def test_shipped_python_evaluates_no_unions_of_types():
    report([f"{relative(path)}:{line}: evaluates a union of types" for path in shipped()
            for line in evaluated_unions(path.read_text())])


@pytest.mark.parametrize("text, version", [
    ("zip([1], [2], strict=True)", "3.10"), ("import tomllib", "3.11"),
    ("number = 3\nnumber.bit_count()", "3.10"),
    ("import itertools\nitertools.pairwise([1])", "3.10"),
    ("import dataclasses\n@dataclasses.dataclass(slots=True)\nclass A: ...", "3.10"),
    ("import dataclasses\n@dataclasses.dataclass(kw_only=True)\nclass A: ...", "3.10")])
def test_what_is_newer_is_found(text, version, tmp_path):
    (tmp_path / "newer.py").write_text(f"{text}\n")
    code, out = vermin(tmp_path / "newer.py")
    assert code != 0 and f"requires !2, {version}" in out, out


@pytest.mark.parametrize("line", [
    "isinstance(3, int | str)", "Number = float | None", "def f(x: int | None): ...",
    "def f() -> list[int] | Session: ...", "class A:\n  x: module.Thing | None = None"])
def test_evaluated_unions_are_found(line):
    assert list(evaluated_unions(line))
    if line.startswith(("def", "class")):
        assert not list(evaluated_unions(f"from __future__ import annotations\n{line}"))


def test_unions_of_sets_and_flags_are_none():
    assert not list(evaluated_unions("x = {1} | {2}\ny = re.M | re.I\nz = a | b\n"))
