"""`plait gate`: verdicts, exit codes, and what it writes for continuous integration."""

import importlib.util
import sys
from xml.etree import ElementTree

import pytest

import models


RUNTIMES = [name for name in ("onnxruntime", "openvino")
            if importlib.util.find_spec(name) is not None]


@pytest.fixture
def runtimes_cli(cli):
    """`plait` that may ask the interpreter of the tests, which has ONNX Runtime at least."""
    cli.variables["PLAIT_RUNTIMES_PYTHON"] = sys.executable
    return cli


def test_a_model_that_is_far_slower_fails(cli, folder, model_file):
    fast = model_file(models.small_model(width=16), "fast")
    slow = model_file(models.slow_model(layers=1, width=256), "slow")
    junit, summary = folder / "gate.xml", folder / "summary.md"
    summary.write_text("what stood there before\n")
    finished = cli.run("gate", fast, slow, "--junit", junit, "--markdown", summary, "--json")
    result = finished.expect(4).json
    assert result["verdict"] == "fail" and result["ratio"]["low"] > 1.02
    assert [result[side]["path"] for side in ("base", "new")] == [str(fast), str(slow)]
    case = ElementTree.parse(junit).getroot().find("testsuite/testcase")
    assert case.find("failure").get("message").startswith("fail: ")
    text = summary.read_text()
    assert text.startswith("what stood there before\n### plait gate: fail\n")
    assert fast.name in text  # of its folder some characters are escaped


def test_a_model_that_is_far_faster_passes(cli, model_file):
    fast = model_file(models.small_model(width=16), "fast")
    slow = model_file(models.slow_model(layers=1, width=256), "slow")
    finished = cli.run("gate", slow, fast, "--max-regression", "0.5%").expect(0)
    assert finished.out.startswith("pass: ")


def test_it_says_which_plans_ran(cli, folder, model_file):
    original, planned = model_file("tiny_resnet"), folder / "planned.onnx"
    cli.run("optimize", original, "-o", planned, "--budget", "8s", "--plan-for",
            "cpu:threads=1").expect(0)
    junit, summary = folder / "gate.xml", folder / "summary.md"
    words = ["--threads", "1", "--budget", "0", "--junit", junit, "--markdown", summary]

    def plans(base, *options):
        result = cli.run("gate", base, planned, *words, *options, "--json").expect(5).json
        for side in ("base", "new"):
            grade, explanation = result[side]["plan"].values()
            said = f"plan of {side}, {grade}: {explanation}"
            assert said in ElementTree.parse(junit).find("testsuite/testcase/system-out").text
            assert said in summary.read_text().replace("\\", "")
        return [(result[side]["plan"]["grade"], result[side]["embedded_plan"])
                for side in ("base", "new")]

    assert plans(original) == [("none", False), ("exact", True)]
    assert plans(planned, "--require-plan") == [("exact", True), ("exact", True)]
    other = ["--instruction-set", "generic"]
    finished = cli.run("gate", original, planned, *words, "--require-plan", "--json").expect(3)
    assert f"{original}: " in finished.last_error_line
    if "_generic;" in cli.run("plans", planned, "--json").expect(0).json["plans"][0]["device"]:
        return
    assert plans(planned, *other) == [("default", False), ("default", False)]
    refused = cli.run("gate", planned, planned, *words, *other, "--require-plan").expect(3)
    assert "another device" in refused.last_error_line


def test_without_time_it_is_inconclusive(cli, folder, model_file):
    model = model_file("tiny_resnet")
    junit = folder / "gate.xml"
    finished = cli.run("gate", model, model, "--budget", "0", "--junit", junit, "--json")
    result = finished.expect(5).json
    assert result["verdict"] == "inconclusive" and result["loads"] == 2
    assert result["ratio"]["low"] is None and result["ratio"]["high"] is None
    suite = ElementTree.parse(junit).getroot().find("testsuite")
    assert suite.get("skipped") == "1" and suite.find("testcase/skipped") is not None


def test_a_model_beside_itself_does_not_fail(cli, model_file):
    model = model_file("tiny_bert")
    finished = cli.run("gate", model, model, "--budget", "20s", "--max-regression", "20%")
    assert finished.code in (0, 5), finished.err  # it passes, or the time did not do


@pytest.mark.parametrize("words, said", [
    (["--max-regression", "2"], "a part in per cent"),
    (["--max-regression", "-1%"], "a part in per cent"),
    (["--max-regression", "many%"], "a part in per cent"),
    (["--runtime", "tensorrt"], "one of plait, onnxruntime, openvino"),
    (["--runtime", "openvino", "--ignore-plan"], "--ignore-plan: is for --runtime plait"),
    (["--runtime", "openvino", "--require-plan"], "--require-plan: is for --runtime plait"),
    (["--runtime", "onnxruntime", "--device", "cuda:0"], "--device: is for --runtime plait"),
    (["--runtime", "onnxruntime", "--threads", "9999"], "--threads: cpu has"),
    (["--junit", "/nonexistent/gate.xml"], "/nonexistent/gate.xml"),
    (["--markdown", "/nonexistent/gate.md"], "/nonexistent/gate.md"),
])
def test_wrong_wishes_are_refused_before_anything_is_measured(cli, model_file, words, said):
    model = model_file("tiny_resnet")
    assert said in cli.run("gate", model, model, *words).expect(2).last_error_line


def test_what_is_no_model_is_rejected(cli, folder, model_file):
    broken = folder / "broken.onnx"
    broken.write_bytes(b"no model")
    junit = folder / "gate.xml"
    junit.write_text("of the last run")
    finished = cli.run("gate", model_file("tiny_resnet"), broken, "--junit", junit, "--json")
    finished.expect(3)
    suite = ElementTree.parse(junit).getroot().find("testsuite")
    assert suite.get("errors") == "1"
    assert "broken.onnx" in suite.find("testcase/error").get("message")


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_another_runtime_runs_the_models(runtimes_cli, folder, model_file, runtime):
    fast = model_file(models.small_model(width=16), "fast")
    slow = model_file(models.slow_model(layers=4, width=1024), "slow")
    words = ["--runtime", runtime, "--threads", "1", "--json"]
    failed = runtimes_cli.run("gate", fast, slow, *words, "--junit", folder / "gate.xml")
    result = failed.expect(4).json
    assert result["runtime"] == result["device"]["id"] == runtime
    assert "=1" in result["runtime_settings"]  # the thread
    assert not result["base"]["embedded_plan"] and result["base"]["plan"] is None
    runtimes_cli.run("gate", slow, fast, *words).expect(0)


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_what_another_runtime_refuses_is_named(runtimes_cli, model_file, runtime):
    model = model_file("tiny_resnet")
    unknown = model_file(models.small_model(operator="Unheard", domain="example.org"), "unknown")
    finished = runtimes_cli.run("gate", model, unknown, "--runtime", runtime).expect(3)
    assert f"{unknown}: {runtime}: " in finished.last_error_line


def test_a_runtime_that_is_missing_is_said(cli, model_file):
    model = model_file("tiny_resnet")
    for python in ("none", "/nonexistent/python"):
        cli.variables["PLAIT_RUNTIMES_PYTHON"] = python
        finished = cli.run("gate", model, model, "--runtime", "onnxruntime").expect(9)
        assert "PLAIT_RUNTIMES_PYTHON" in finished.last_error_line
