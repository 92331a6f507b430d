"""Models with nodes that plait lacks, of which its own workers time parts, measured as a whole in
plait.InferenceSession."""

import subprocess
import sys
import sysconfig

import pytest

import models
import plait_package
import strange_models

NAMED = ("--runtime", "plait", "--runtime", "onnxruntime")


@pytest.fixture(scope="module", name="interpreter")
def fixture_interpreter(tmp_path_factory):
    """A Python that has plait, and what that of the tests has."""
    folder = tmp_path_factory.mktemp("interpreter")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
    (site,) = (folder / "venv").glob("lib/python*/site-packages")
    paths = [plait_package.link(folder / "packages"), sysconfig.get_path("purelib")]
    (site / "others.pth").write_text("".join(f"{path}\n" for path in paths))
    return folder / "venv" / "bin" / "python"


@pytest.fixture(name="daemon")
def fixture_daemon(new_daemon, interpreter):
    daemon = new_daemon("--runtimes-python", interpreter).start()
    daemon.wait_for_worker()
    yield daemon


def optimize(cli, daemon, model, output, *words):
    report = cli.run("optimize", model, "-o", output, "--server", daemon.address, "--budget", "20s",
                     "--json", *words).expect(0).json
    return report, {line["runtime"]: line for line in report["runtimes"]}


def restart_without_runtimes(daemon):
    assert daemon.stop() == 0
    daemon.arguments = ("--runtimes-python", "none")
    daemon.start()
    daemon.wait_for_worker()


def test_the_whole_is_measured_compared_and_recommended(cli, daemon, folder, model_file):
    model = model_file(strange_models.detector())
    output = folder / "out.onnx"
    report, lines = optimize(cli, daemon, model, output, *NAMED)
    assert list(lines) == ["plait", "onnxruntime"]
    assert lines["plait"]["note"].startswith("of plait.InferenceSession 0.2.0")
    assert 0 < lines["plait"]["latency_us_p10"] <= lines["plait"]["latency_us_median"]
    assert not any("and not of the whole" in warning for warning in report["warnings"])
    fastest = min(lines.values(), key=lambda line: line["latency_us_p10"])
    assert report["recommended"]["runtime"] == fastest["runtime"]
    assert report["recommended"]["latency_us"] == fastest["latency_us_median"]

    restart_without_runtimes(daemon)
    again = folder / "again.onnx"
    replayed = cli.run("replay", report["id"], "-o", again, "--server", daemon.address,
                       "--json").expect(0).json
    assert again.read_bytes() == output.read_bytes()
    assert replayed["runtimes"] == report["runtimes"]
    assert replayed["recommended"] == report["recommended"]


def test_what_nobody_can_run_is_timed_in_parts(cli, daemon, folder, model_file):
    model = model_file(strange_models.custom())
    report, lines = optimize(cli, daemon, model, folder / "out.onnx", *NAMED)
    assert "the whole has no time" in lines["plait"]["note"]
    assert "Frobnicate" in lines["plait"]["note"]
    assert any("and not of the whole" in warning for warning in report["warnings"])
    assert report["recommended"] is None


def test_where_plait_has_all_nodes_nobody_asks_for_it(cli, daemon, folder, model_file):
    report, lines = optimize(cli, daemon, model_file(models.small_model()), folder / "out.onnx",
                             *NAMED)
    assert list(lines) == ["plait", "onnxruntime"] and not lines["plait"]["note"]
    assert not any("time" in warning for warning in report["warnings"])


def test_it_is_listed_and_cannot_be_named(cli, daemon, model_file):
    listed = cli.run("devices", "--server", daemon.address, "--json").expect(0).json
    found = {device["id"]: device for device in listed["devices"]}
    assert found["plaitsession"]["runtime_version"] == "0.2.0"
    refused = cli.run("optimize", model_file(models.small_model()), "--server", daemon.address,
                      "--runtime", "plaitsession").expect(9)
    there = refused.last_error_line.split("there are: ", 1)[1]
    assert "onnxruntime" in there and "plaitsession" not in there
