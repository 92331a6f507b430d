"""`plait ablate`: a job for each pair of a search and a schedule."""

import json

import models


def test_each_pair_has_a_row(cli, model_file):
    model = model_file(models.light_model("tiny_resnet"))
    finished = cli.run("ablate", model, "--searches", "normal_form,taso", "--schedules",
                       "sequential,ios", "--budget", "6s", "--json").expect(0)
    rows = finished.json["rows"]
    assert [(row["search"], row["schedule"], row["system"]) for row in rows] == [
        ("normal_form", "sequential", "JIT"), ("normal_form", "ios", "IOS"),
        ("taso", "sequential", "TASO+JIT"), ("taso", "ios", None)]
    for row in rows:
        assert row["speedup"] >= 1 and row["latency_us_median"] > 0
        assert row["origin"] in ("baseline", "normal_form", "searched")
        assert row["search_seconds"] > 0
    # Whoever waits is told which pair it is.
    assert "search taso, schedule ios" in finished.err


def test_people_get_a_table(cli, model_file):
    model = model_file(models.small_model())
    out = cli.run("ablate", model, "--searches", "plait", "--schedules", "opara,plait",
                  "--budget", "5s").expect(0).out
    heading, *lines = out.splitlines()
    assert heading.startswith("search") and len(lines) == 2
    assert lines[0].split()[:2] == ["plait", "opara"]


def test_a_policy_that_does_not_exist_is_refused_with_the_others(cli, model_file):
    finished = cli.run("ablate", model_file(models.small_model()), "--schedules", "ios,fastest",
                       "--json").expect(2)
    message = json.loads(finished.out)["error"]["message"]
    assert "--schedules" in message and "opara" in message


def test_a_model_that_is_none_has_no_rows(cli, model_file):
    finished = cli.run("ablate", model_file(b"no model"), "--json").expect(3)
    assert json.loads(finished.out)["error"]["reason"] == "MODEL_REJECTED"
