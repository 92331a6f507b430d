"""The Dockerfile: its steps are understood and name files that exist; with PLAIT_LONG=1 it runs."""

import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

import pytest

import dockerfile_in_chroot as dockerfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
STAGES = dockerfile.parse((ROOT / "Dockerfile").read_text())
can_run = os.geteuid() == 0 and shutil.which("mmdebstrap") and shutil.which("openssl")


def test_the_images_are_known():
    begun = {stage.image for stage in STAGES if not stage.base}
    assert begun <= set(dockerfile.SUITE_OF_IMAGE)


def test_copied_files_exist():
    for stage in STAGES:
        for instruction, text in stage.steps:
            if instruction == "COPY" and "--from=" not in text:
                for name in shlex.split(text)[:-1]:
                    assert (ROOT / name).exists(), text


def test_the_image_starts_as_a_user_without_rights():
    last = STAGES[-1]
    assert last.last("USER") not in ("root", "0", "[]")
    entry_point = json.loads(last.last("ENTRYPOINT"))
    assert entry_point == ["plaitd", "--config", "/etc/plait/plaitd.toml"]
    # What `docker run IMAGE --insecure-any-address` says comes behind it, and replaces no setting.
    assert last.last("CMD") == "[]"


def test_a_gpus_worker_starts_as_that_user_too():
    (stage,) = (stage for stage in STAGES if stage.name == "worker-cuda")
    assert stage.last("USER") == STAGES[-1].last("USER")
    assert json.loads(stage.last("ENTRYPOINT")) == ["plait-worker"]
    # The toolkit of the container engine gives it a driver for these alone.
    assert "NVIDIA_DRIVER_CAPABILITIES=compute,utility" in stage.last("ENV")


def test_an_image_has_the_runtimes_that_jobs_measure_in():
    (stage,) = (stage for stage in STAGES if stage.name == "with-runtimes")
    assert stage.base is STAGES[-1].base and stage.last("USER") == STAGES[-1].last("USER")
    assert stage.last("ENV") == "PLAIT_RUNTIMES_PYTHON=/opt/runtimes/bin/python"
    pinned = (ROOT / "deploy" / "container" / "requirements-runtimes.txt").read_text()
    compared = (ROOT / "bench" / "peers" / "requirements-peers.txt").read_text()
    for runtime in ("onnxruntime", "openvino"):
        assert re.search(rf"^{runtime}==.*", pinned, re.M)[0] in compared.splitlines()


def test_the_image_listens_where_a_published_port_reaches_it():
    settings = (ROOT / "deploy" / "container" / "plaitd.toml").read_text()
    lines = settings.splitlines()
    assert 'listen = "0.0.0.0:7400"' in lines
    assert not any(line.startswith("insecure") for line in lines), "whoever runs it chooses"


def test_an_instruction_that_is_not_understood_is_an_error():
    with pytest.raises(ValueError, match="ONBUILD"):
        dockerfile.parse("FROM debian:bookworm-slim\nONBUILD RUN true\n")


def test_a_stage_begins_with_another_one():
    one, two = dockerfile.parse("ARG BASE=one\nFROM a AS one\nUSER x\nFROM ${BASE} AS two\n")
    assert one.base is None and two.base is one and two.last("USER") == "x"


def test_continued_lines_are_one_step():
    (stage,) = dockerfile.parse("FROM a AS b\n# text\nRUN one && \\\n  two\n")
    assert stage.name == "b" and stage.steps[0][1].split() == ["one", "&&", "two"]


@pytest.mark.long
@pytest.mark.skipif(not can_run, reason="needs root, mmdebstrap and openssl")
def test_every_step_runs_in_a_clean_root_and_the_daemon_answers():
    script = ROOT / "tests" / "deploy" / "dockerfile_in_chroot.py"
    subprocess.run([sys.executable, str(script)], check=True)
