"""Type hints: true of the package, and seen by those who use it."""

import subprocess
import sys

import pytest
from wheels import ROOT

USE = """
import plait

def progress(event: plait.Event) -> None:
    print(event.fraction + 1.0)

result = plait.optimize("a.onnx", budget=5, shapes={"x": [1, 2]}, on_progress=progress)
reveal_type(result.optimized.latency_us_median)
session = plait.InferenceSession("a.onnx", threads=2)
reveal_type(session.get_inputs()[0].shape)
with plait.Client("127.0.0.1:1", tls=plait.Tls(ca="ca.pem")) as client:
    reveal_type(client.submit("a.onnx", seed=3).state)
plait.optimize("a.onnx", colour=3)
plait.optimize("a.onnx", budget="long")
"""


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """What mypy knows of the package and of numpy is read once."""
    return tmp_path_factory.mktemp("cache")


def mypy(cache, *words):
    command = [sys.executable, "-m", "mypy", "--cache-dir", cache, *words]
    finished = subprocess.run([str(word) for word in command], cwd=ROOT, text=True,
                              capture_output=True, check=False)
    return finished.returncode, finished.stdout + finished.stderr


def test_the_package_keeps_its_types(cache):
    code, out = mypy(cache)
    assert code == 0, out


def test_users_see_them(cache, tmp_path):
    program = tmp_path / "use.py"
    program.write_text(USE)
    code, out = mypy(cache, program)
    revealed = [line.split('"')[1].removeprefix("builtins.") for line in out.splitlines()
                if "Revealed type" in line]
    assert revealed == ["float | None", "list[Any]", "str"], out
    assert 'Unexpected keyword argument "colour"' in out and code == 1
    assert 'Argument "budget" to "optimize" has incompatible type "str"' in out
