"""bench/search/autograph_table on a small model, and the rules by which its tables are read."""

import json
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
sys.path.insert(0, str(ROOT / "bench" / "search"))

import autograph_table  # noqa: E402 (found through the line above)

PAIRS = ("normal_form:sequential,normal_form:greedy,normal_form:nimble,normal_form:ios,"
         "normal_form:opara,taso:sequential,taso:nimble,taso:nimble:1,autograph:nimble,"
         "autograph:plait,plait:sequential,plait:plait,autograph_no_path:plait")


def call(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          timeout=300, check=False)


@pytest.fixture(scope="module", name="model")
def write_model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    done = call(sys.executable, ROOT / "bench" / "models" / "light.py", "--out", folder,
                "tiny_inception")
    assert done.returncode == 0, done.stderr
    return folder / "tiny_inception.onnx"


def needs(program):
    return pytest.mark.skipif(not (BUILD / program).exists(), reason=f"{program} is not built")


@needs("autograph_table")
def test_every_pair_has_its_row_and_its_draws(model, tmp_path):
    done = call(BUILD / "autograph_table", "--settings", "tf32:blocks", "--pairs", PAIRS, model)
    assert done.returncode == 0, done.stderr
    (line,) = map(json.loads, done.stdout.splitlines())
    assert line["predicted"] and line["setting"] == "tf32:blocks"
    rows = {f"{row['search']}:{row['schedule']}" for row in line["rows"]}
    assert rows == {":".join(pair.split(":")[:2]) for pair in PAIRS.split(",")}
    for row in line["rows"]:
        assert row["predicted_us"] >= row["bound_us"] * (1 - 1e-9) > 0
        assert len(set(row["drawn_us"])) == 20
    line["model"] = "inception_v3"
    lines = tmp_path / "lines.jsonl"
    lines.write_text(json.dumps(line) + "\n")
    made = call(sys.executable, ROOT / "bench" / "search" / "autograph_table.py", lines)
    assert made.returncode == 0, made.stderr
    assert "/ 3.16" in made.stdout  # JIT by AutoGraph in the paper
    assert "geometric mean of 1" in made.stdout


# Of a plan in line the cover is that for one stream, which is another one where sums can move.
@pytest.mark.long
@needs("autograph_table")
def test_a_plan_in_line_of_a_large_model_is_found_again(tmp_path):
    skeleton = ROOT / "bench" / "models" / "skeletons" / "nasnet_large.skeleton"
    model = tmp_path / "nasnet_large.onnx"
    done = call(sys.executable, ROOT / "bench" / "models" / "skeleton.py", "restore", skeleton,
                model)
    assert done.returncode == 0, done.stderr
    done = call(BUILD / "autograph_table", "--settings", "tf32:blocks", "--pairs",
                "normal_form:sequential,normal_form:nimble", model)
    model.unlink()
    assert done.returncode == 0, done.stderr


@needs("autograph_table")
def test_plait_finds_what_simpler_searches_find(model):
    pairs = "plait:plait,autograph:plait,autograph_no_dp:plait,autograph_no_path:plait,taso:greedy"
    done = call(BUILD / "autograph_table", "--pairs", pairs, model)
    assert done.returncode == 0, done.stderr
    for line in map(json.loads, done.stdout.splitlines()):
        plait, *others = line["rows"]
        for other in others:
            assert plait["predicted_us"] <= other["predicted_us"], (line["setting"], other)


@needs("autograph_table")
@pytest.mark.parametrize("option, value, named", [("--settings", "fast:blocks", "fast:blocks"),
                                                  ("--pairs", "plait", "policies: plait"),
                                                  ("--models", "all", "--models")])
def test_what_there_is_not_is_refused(model, option, value, named):
    done = call(BUILD / "autograph_table", option, value, model)
    assert done.returncode == 1 and named in done.stderr


@needs("search_replays")
def test_a_search_writes_one_file_however_often_it_is_asked(model):
    done = call(BUILD / "search_replays", 2, model)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1].split()[:3] == ["tiny_inception", "4", "1"]


def row(us, drawn):
    return {"predicted_us": us, "bound_us": us, "drawn_us": drawn, "streams": 1,
            "search_seconds": 1, "schedule_used": "greedy"}


def test_what_is_ahead_in_too_few_draws_is_undecided():
    assert autograph_table.verdict(20, 0, 20) == "ahead"
    assert autograph_table.verdict(18, 2, 20) == "undecided"
    assert autograph_table.verdict(0, 19, 20) == "behind"
    assert autograph_table.verdict(0, 0, 20) == "equal"


def test_each_draw_has_the_best_rival_of_its_own():
    rows = {("plait", "plait", 6): row(10, [10, 10]),
            ("taso", "nimble", 6): row(12, [15, 9]),
            ("normal_form", "greedy", 6): row(13, [11, 14]),
            ("taso", "nimble", 1): row(1, [1, 1]),
            ("autograph", "nimble", 6): row(1, [1, 1])}
    key, ratio, drawn = autograph_table.against(rows, autograph_table.rivals_of(rows))
    assert (key, ratio, drawn) == (("taso", "nimble", 6), 1.2, [1.1, 0.9])
