"""`plait doctor` and `plait plans`: what is said of a machine, and of a model's plan there."""

import os
import shutil
import subprocess
import sys

import pytest

import programs


def checks(finished):
    return {check["check"]: check for check in finished.json["checks"]}


def test_a_healthy_machine_has_no_error(cli):
    found = checks(cli.run("doctor", "--json").expect(0))
    assert {"plait", "processor", "cores", "load", "memory", "cache", "plaitd", "worker",
            "server"} <= set(found)
    assert all(check["level"] != "error" for check in found.values())
    assert all(bool(check["fix"]) == (check["level"] != "ok") for check in found.values())
    threads = len(os.sched_getaffinity(0))
    assert found["cores"]["text"].split()[0] in {str(n) for n in range(1, threads + 1)}


def runtimes_of(finished):
    return [check for check in finished.json["checks"] if check["check"] == "runtime"]


def test_runtimes_that_are_missing_are_a_note_with_what_helps(cli, folder):
    for python in ("none", "/nonexistent/python"):
        cli.variables["PLAIT_RUNTIMES_PYTHON"] = python
        (note,) = runtimes_of(cli.run("doctor", "--json").expect(0))
        assert note["level"] == "note" and "PLAIT_RUNTIMES_PYTHON" in note["fix"]
        assert "onnxruntime, openvino is missing" in note["text"]
    # A Python without packages, and one that has ONNX Runtime at least.
    bare = folder / "python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    bare.chmod(0o755)
    cli.variables["PLAIT_RUNTIMES_PYTHON"] = str(bare)
    notes = runtimes_of(cli.run("doctor", "--json").expect(0))
    assert [note["level"] for note in notes] == ["note", "note", "note"]
    assert "onnxruntime is missing: the interpreter has no " in notes[0]["text"]
    assert "(pip install " in notes[0]["text"]
    cli.variables["PLAIT_RUNTIMES_PYTHON"] = sys.executable
    found = runtimes_of(cli.run("doctor", "--json").expect(0))
    assert found[0]["level"] == "ok" and found[0]["text"].startswith("ONNX Runtime ")


def test_a_cache_that_cannot_be_written_is_an_error(new_cli, folder):
    (folder / "file").touch()
    finished = new_cli.run("doctor", "--cache-dir", folder / "file" / "cache", "--json")
    found = checks(finished.expect(1))
    assert found["cache"]["level"] == "error" and "--cache-dir" in found["cache"]["fix"]
    assert not new_cli.cache.exists(), "looking makes nothing"


def test_programs_that_are_not_there_are_errors(cli, folder):
    shutil.copy(programs.program("plait"), folder / "plait")
    finished = programs.Finished(subprocess.run(
        [folder / "plait", "doctor", "--json"], env=cli.environment(), text=True,
        capture_output=True, check=False))
    found = checks(finished.expect(1))
    for name in ("plaitd", "worker"):
        assert found[name]["level"] == "error" and "install" in found[name]["fix"]


@pytest.mark.parametrize("code, level", [("echo 9.9.9", "error"), ("exit 3", "error")])
def test_a_daemon_of_another_version_is_an_error(cli, folder, code, level):
    shutil.copy(programs.program("plait"), folder / "plait")
    (folder / "plaitd").write_text(f"#!/bin/sh\n{code}\n")
    (folder / "plaitd").chmod(0o755)
    finished = programs.Finished(subprocess.run(
        [folder / "plait", "doctor", "--json"], env=cli.environment(), text=True,
        capture_output=True, check=False))
    assert checks(finished.expect(1))["plaitd"]["level"] == level


def test_a_server_is_asked(cli, shared_daemon):
    found = checks(cli.run("doctor", "--server", shared_daemon.address, "--json").expect(0))
    assert found["server"]["level"] == "ok" and "1 workers" in found["server"]["text"]
    found = checks(cli.run("doctor", "--server", "127.0.0.1:1", "--json").expect(1))
    assert found["server"]["level"] == "error"


def test_a_server_without_workers_is_a_warning(cli, new_daemon):
    daemon = new_daemon("--workers", "none").start()
    finished = cli.run("doctor", "--server", daemon.address).expect(0)
    assert "no job can run" in finished.out


def test_plans_says_whether_a_plan_fits(cli, folder, model_file):
    original = model_file("tiny_resnet")
    assert cli.run("plans", original, "--json").expect(0).json["plans"] == []
    optimized = folder / "out.onnx"
    held = ("--instruction-set", "generic")
    report = cli.run("optimize", original, "-o", optimized, "--budget", "5s", "--json",
                     *held).expect(0).json
    (plan,) = cli.run("plans", optimized, "--json", *held).expect(0).json["plans"]
    assert plan["fits"] and plan["reason"] == ""
    assert plan["device"] == report["device"]["fingerprint"]
    assert plan["instruction_set"] == "generic"
    assert plan["kernels"] == report["optimized"]["kernels"]
    assert plan["streams"] == report["plan"]["streams"]
    assert plan["arena_bytes"] == report["plan"]["arena_bytes"]
    assert plan["precision"] == report["optimized"]["precision"] == "strict"
    (plan,) = cli.run("plans", optimized, "--threads", "1", "--json", *held).expect(0).json["plans"]
    if len(os.sched_getaffinity(0)) > 1:
        assert not plan["fits"] and "another device" in plan["reason"]
