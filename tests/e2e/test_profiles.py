"""`plait profiles`: measured kernel times, for people."""

import json

import pytest

import models


@pytest.fixture
def measured(cli, model_file):
    """A model whose kernels are in the cache."""
    model = model_file(models.small_model())
    cli.run("optimize", model, "--budget", "5s", "--search", "none", "--runtime",
            "plait").expect(0)
    return model


def test_profiles_are_listed_explained_carried_and_forgotten(cli, measured, folder):
    listed = cli.run("profiles", "list", "--limit", "0", "--json").expect(0).json
    assert listed["count"] == len(listed["profiles"]) > 0
    kernel = next(entry for entry in listed["profiles"] if "latency_us_median" in entry)
    (whole,) = cli.run("profiles", "get", kernel["id"], "--json").expect(0).json["profiles"]
    assert whole["latency_us_median"] == kernel["latency_us_median"]
    assert whole["graph"].startswith("graph {") and whole["version"]

    known = cli.run("profiles", "explain-miss", measured, "--json").expect(0).json
    assert 0 < known["known"] <= known["kernels"]
    assert len(known["misses"]) == known["kernels"] - known["known"]

    file = folder / "profiles.jsonl"
    exported = cli.run("profiles", "export", file, "--json").expect(0).json["exported"]
    assert exported == listed["count"] == len(file.read_text().splitlines())
    assert cli.run("profiles", "gc", "--json").expect(0).json["dropped"] == 0
    gone = cli.run("profiles", "gc", "--older-than", "0s", "--json").expect(0).json
    assert gone == {"count": exported, "dropped": exported, "dry_run": False}
    assert not cli.run("profiles", "list", "--json").expect(0).json["profiles"]
    imported = cli.run("profiles", "import", file, "--json").expect(0).json
    assert imported["imported"] == exported
    again = cli.run("profiles", "list", "--limit", "0", "--json").expect(0).json
    assert again == listed


def test_what_is_missing_is_explained_by_what_is_there(cli, measured, folder):
    file = folder / "profiles.jsonl"
    cli.run("profiles", "export", file).expect(0)
    cli.run("profiles", "gc", "--older-than", "0s").expect(0)
    reasons = {entry["reason"] for entry in
               cli.run("profiles", "explain-miss", measured, "--limit", "0",
                       "--json").expect(0).json["misses"]}
    assert reasons == {"nothing of this family was measured on the device"}
    # Of code that has changed since: found by no search, and garbage.
    lines = [line.replace("version=", "version=old-") for line in file.read_text().splitlines()]
    file.write_text("\n".join(lines) + "\n")
    cli.run("profiles", "import", file).expect(0)
    missed = cli.run("profiles", "explain-miss", measured, "--limit", "0", "--json").expect(0).json
    assert missed["known"] == 0
    assert any("of its code" in entry["reason"] for entry in missed["misses"])
    dropped = cli.run("profiles", "gc", "--dry-run", "--json").expect(0).json
    assert dropped["dropped"] > 0 and dropped["dry_run"]
    assert "would go" in cli.run("profiles", "gc", "--dry-run").expect(0).out


def test_mistakes_say_what_helps(cli, folder):
    for words, text in [
        (["prune"], "list"), (["get"], "needs an ID"), (["list", "x"], "takes nothing more"),
        (["get", "0123"], "plait profiles list"), (["import", folder / "none"], "none"),
    ]:
        finished = cli.run("profiles", *words, "--json").expect(2)
        assert text in json.loads(finished.out)["error"]["message"]
    broken = folder / "broken.jsonl"
    broken.write_text("{}\nno profile\n")
    finished = cli.run("profiles", "import", broken, "--json").expect(2)
    assert f"{broken}:2" in json.loads(finished.out)["error"]["message"]
    finished = cli.run("profiles", "explain-miss", broken, "--json").expect(3)
    assert json.loads(finished.out)["error"]["reason"] == "MODEL_REJECTED"
