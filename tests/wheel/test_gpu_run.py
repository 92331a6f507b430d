"""bench/gpu/run where there is nothing but Python, CUDA and what is brought along: each step to its
end, on the simulated driver and the recorder's fake device. No time in it is one."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest
import wheels
from wheels import programs

BENCH = wheels.ROOT / "bench"
CUDA_LIBRARIES = pathlib.Path("/usr/local/cuda/lib64")
SIMULATED = programs.BUILD / "simulated_gpu"
PARTS = (SIMULATED / "libcuda.so.1", programs.BUILD / "plait-gpu-record",
         programs.BUILD / "tests" / "gpu_conformance_test")

sys.path.append(str(BENCH / "gpu"))

import pack  # noqa: E402 (found through the line above)
from jobs import POLICIES  # noqa: E402

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("mmdebstrap"),
                       reason="needs root and mmdebstrap"),
    pytest.mark.skipif(not all(part.is_file() for part in PARTS),
                       reason="the CUDA backend, its simulated driver or its test is not built"),
    pytest.mark.skipif(not (CUDA_LIBRARIES / "libnvrtc.so.13").exists(),
                       reason="NVRTC is not installed here")]

SUITE, PYTHON = "bookworm", "3.11"
COMPILERS = ("cc", "c++", "gcc", "g++", "clang", "cmake", "ninja", "make", "nvcc")
# Of the conformance cases those that a simulated device has done in a minute.
CASES = "*Graphs*:*/scale_shift_strict:Sticky*"
BUDGET_SECONDS = 590
SETTINGS = ("strict", *POLICIES)
# Its weights are drawn from the seeds of its skeleton.
DRAWN_MODEL = "squeezenet"

PROGRAM = f"""
set -eu
for name in {' '.join(COMPILERS)}; do ! command -v $name; done
python3 -m venv /venv
/venv/bin/pip install --quiet --no-index --find-links /wheels numpy onnx
export PATH=/venv/bin:$PATH LD_LIBRARY_PATH=/simulated:/simulated/lib:{CUDA_LIBRARIES}
export XDG_CACHE_HOME=/cache GTEST_FILTER='{CASES}'
run="python /plait/bench/gpu/run --pack /pack --wheel $(echo /wheels/plait-*.whl)"
run="$run --build /work --commit rehearsed"
$run --tiny --out /results --budget {BUDGET_SECONDS} \\
    --job-options '--settings {','.join(SETTINGS)} --job-seconds 60'
exec $run --resume /results --out /resumed --budget {BUDGET_SECONDS} --steps jobs \\
    --job-options '--models {DRAWN_MODEL} --settings strict --job-seconds 60'
"""


@pytest.fixture
def root(tmp_path, wheel):
    path = tmp_path / "root"
    wheels.run("mmdebstrap", "--variant=minbase", "--include=python3,python3-venv", SUITE, path,
               timeout=1800)
    (path / "wheels").mkdir()
    shutil.copy(wheel, path / "wheels")
    wheels.run(sys.executable, "-m", "pip", "download", "--quiet", "--only-binary", ":all:",
               "--python-version", PYTHON, "--dest", path / "wheels", "numpy", "onnx")
    shutil.copytree(BENCH, path / "plait" / "bench", ignore=shutil.ignore_patterns("__pycache__"))
    wheels.run(sys.executable, BENCH / "gpu" / "pack.py", path / "pack", "--build", programs.BUILD,
               "--tiny")
    pack.pack_program(PARTS[0], path / "simulated")
    for name in ("libcudnn.so.9", "libcublasLt.so.13"):
        (path / "simulated" / name).symlink_to("libcuda.so.1")
    libraries = path / CUDA_LIBRARIES.relative_to("/")
    libraries.mkdir(parents=True)
    mounts = [["-t", "proc", "proc", path / "proc"],
              ["--bind", "-o", "ro", CUDA_LIBRARIES.resolve(), libraries]]
    for words in mounts:
        subprocess.run(["mount", *words], check=True)
    yield path
    for words in mounts:
        subprocess.run(["umount", words[-1]], check=True)


def test_every_step_runs_to_its_end_and_nothing_is_compiled(root):
    done = subprocess.run(["unshare", "--net", "chroot", root, "/bin/sh", "-c", PROGRAM],
                          env={"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "HOME": "/root"},
                          capture_output=True, text=True, timeout=3 * BUDGET_SECONDS, check=False)
    print(done.stdout, done.stderr)
    assert done.returncode == 0, done.stdout + done.stderr
    results = root / "results"
    facts = json.loads((results / "device.json").read_text())
    assert facts["fake"] and facts["simulated"] and facts["versions"]["cmake"] is None
    assert "== build: not needed: there is a pack" in done.stdout
    for step in ("constants", "conformance", "jobs", "seed kernels", "contention"):
        assert f"== {step}: done" in done.stdout, step
    assert "cut off" not in done.stdout
    assert facts["conformance"]["graphs"] >= 9 and not facts["conformance"]["failures"]
    assert facts["conformance"]["sticky_error"] and facts["conformance"]["kernels"] > 0
    jobs = json.loads((root / "resumed" / "jobs.json").read_text())
    assert jobs[:-1] == json.loads((results / "jobs.json").read_text())
    assert [(job["model"], job["setting"]) for job in jobs] == [
        *(("tiny_resnet", setting) for setting in SETTINGS), (DRAWN_MODEL, "strict")]
    for job in jobs:
        assert job["device"]["predicted"] and job["equivalence"]["verdict"] == "equivalent"
        assert job["optimized"]["latency_us_median"] is None
    for name in ("constants.json", "kernels.jsonl", "profiles.jsonl", "contention.jsonl"):
        assert (results / name).stat().st_size > 0
    # The table is there, and says of nothing that a GPU has shown it.
    table = done.stdout[done.stdout.index("not run on a GPU"):]
    assert table.count("not run on a GPU") > 10
    work = {path.name for path in (root / "work").iterdir()}
    assert work == {"results", "tiny"}, "nothing is built"
