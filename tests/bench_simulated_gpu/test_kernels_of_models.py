"""What is known, without a GPU, of the generated kernels of whole models."""

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("PLAIT_BUILD", ROOT / "build"))
SKELETONS = ROOT / "bench" / "models" / "skeletons"
sys.path.insert(0, str(ROOT / "bench" / "models"))

import light  # noqa: E402 (found through the line above)
import skeleton  # noqa: E402

# Built where CUDA's headers are, and cuDNN's.
PROGRAMS = ["kernel_resources", "kernel_traffic"]
pytestmark = pytest.mark.skipif(
    not all((BUILD / program).exists() for program in PROGRAMS), reason="they are not built")


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """The fourteen models, which are removed afterwards: they have gigabytes."""
    folder = tmp_path_factory.mktemp("models")
    for source in sorted(SKELETONS.glob("*.skeleton")):
        skeleton.restore_file(source, folder / f"{source.stem}.onnx")
    paths = sorted(folder.glob("*.onnx"))
    assert len(paths) == 14
    yield paths
    for path in paths:
        path.unlink()


def run(program, *words):
    done = subprocess.run([BUILD / program, *map(str, words)], capture_output=True, text=True,
                          check=False)
    if "libnvrtc" in done.stdout + done.stderr:
        pytest.skip("libnvrtc.so.13 is not here")
    return done


@pytest.mark.parametrize("program", PROGRAMS)
def test_kernels_of_a_tiny_model_keep_to_the_limits(program, tmp_path):
    done = run(program, light.write("tiny_densenet", tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.long
@pytest.mark.parametrize("program", PROGRAMS)
def test_kernels_of_the_fourteen_models_keep_to_the_limits(program, models):
    done = run(program, *models)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "not needed" not in done.stdout, "an exception can go"
