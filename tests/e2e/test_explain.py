"""`plait explain`: by which kernels a model runs, and what they take."""

import json

import pytest

import learned
import models


@pytest.fixture(scope="module")
def optimized(tmp_path_factory):
    folder = tmp_path_factory.mktemp("optimized")
    model, path = folder / "model.onnx", folder / "faster.onnx"
    model.write_bytes(models.light_model("tiny_resnet"))
    cli = learned.cli(folder / "cache")
    cli.run("optimize", model, "-o", path, "--budget", "8s", "--runtime", "plait").expect(0)
    return path


def test_every_kernel_has_a_time_and_every_node_a_kernel(cli, optimized):
    explained = cli.run("explain", optimized, "--budget", "2s", "--json").expect(0).json
    (plan,) = cli.run("plans", optimized, "--json").expect(0).json["plans"]
    steps = explained["steps"]
    assert len(steps) == plan["kernels"] and explained["plan"]["grade"] == "exact"
    assert [step["step"] for step in steps] == list(range(len(steps)))
    assert all(step["us"] > 0 for step in steps if step["family"] != "view")
    assert sum(step["us"] for step in steps) == pytest.approx(explained["us"])
    assert sum(family["steps"] for family in explained["families"]) == len(steps)
    assert "Conv" in [name for step in steps for name in step["operators"]]


def test_a_node_is_found_in_its_kernel(cli, optimized):
    steps = cli.run("explain", optimized, "--budget", "1s", "--json").expect(0).json["steps"]
    name = next(name for step in steps for name in step["nodes"] if name)
    found = cli.run("explain", optimized, "--budget", "1s", "--node", name, "--json").expect(0)
    assert [name in step["nodes"] for step in found.json["steps"]] == [True]
    missing = cli.run("explain", optimized, "--budget", "1s", "--node", "no such node", "--json")
    assert "no such node" in json.loads(missing.expect(2).out)["error"]["message"]


def test_people_get_two_tables(cli, optimized):
    out = cli.run("explain", optimized, "--budget", "1s", "--top", "3").expect(0).out
    first, *_ = out.splitlines()
    assert "kernels on" in first and "kernels, by family" in out
    assert len(out.split("operators, first node")[1].strip().splitlines()) == 3


def test_a_model_without_a_plan_is_explained_by_its_operators(cli, model_file):
    model = model_file(models.small_model())
    explained = cli.run("explain", model, "--budget", "1s", "--json").expect(0).json
    assert [step["operators"] for step in explained["steps"]] == [["MatMul"], ["Relu"], ["MatMul"]]
    assert not explained["plan"]["grade"] == "exact"


def test_two_models_are_put_beside_each_other(cli, optimized):
    diff = cli.run("diff", optimized, optimized, "--ignore-plan", "--budget", "2s",
                   "--json").expect(0).json
    assert diff["before"]["kernels"] >= diff["after"]["kernels"]
    for side in ("before", "after"):
        assert sum(len(match[side]) for match in diff["matches"]) == diff[side]["kernels"]
        assert sum(match[side + "_us"] for match in diff["matches"]) == pytest.approx(
            diff[side]["us"])
    out = cli.run("diff", optimized, optimized, "--budget", "2s", "--top", "2").expect(0).out
    assert len(out.strip().splitlines()) == 5


def test_a_rule_says_where_it_applies_and_what_is_in_the_way(cli, model_file):
    model = model_file(models.light_model("tiny_resnet"))
    told = cli.run("explain", model, "--rule", "all", "--json").expect(0).json
    assert "steps" not in told and {entry["graph"] for entry in told["rules"]} >= {"original"}
    assert all(entry["rewrites"] or entry["reasons"] for entry in told["rules"])
    name = next(entry["rule"] for entry in told["rules"] if entry["rewrites"])
    out = cli.run("explain", model, "--rule", name).expect(0).out
    assert out.startswith(f"{name}: ") and "applies" in out
    unknown = cli.run("explain", model, "--rule", "merge_conv", "--json").expect(2)
    assert "merge_convs" in json.loads(unknown.out)["error"]["message"]


def test_a_node_says_what_rules_say_of_it(cli, optimized):
    steps = cli.run("explain", optimized, "--budget", "1s", "--json").expect(0).json["steps"]
    name = next(name for step in steps for name in step["nodes"] if name)
    told = cli.run("explain", optimized, "--budget", "1s", "--node", name, "--json").expect(0).json
    assert told["rules"] and told["steps"]
