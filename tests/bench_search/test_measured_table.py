"""The table that bench/search/measured_table.py makes of what `plait ablate` measured."""

import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench" / "search"))

import measured_table  # noqa: E402 (found through the line above)


def write(folder, model, speedups):
    rows = [{"search": search, "schedule": schedule, "latency_us_median": 2000,
             "speedup": speedups[system], "speedup_low": speedups[system] - 0.05,
             "speedup_high": speedups[system] + 0.05}
            for system, (search, schedule) in measured_table.COLUMNS.items()]
    (folder / f"{model}.json").write_text(json.dumps({"model": model, "rows": rows}))


def test_times_are_told_by_autographs_and_what_is_not_known_is_marked(tmp_path):
    write(tmp_path, "resnet50", {"JIT": 1.0, "TASO+JIT": 1.0, "IOS": 1.15, "Nimble": 1.2,
                                 "TASO+Nimble": 1.2, "AutoGraph": 1.2, "plait": 1.5})
    lines = measured_table.systems_table(measured_table.read([tmp_path])).splitlines()
    cells = [cell.strip() for cell in lines[2].strip("|").split("|")]
    assert cells == ["resnet50", "2.00", "1.20 / 2.40", "1.20 / 2.39", "1.04= / 1.72",
                     "1.00= / 1.13", "1.00= / 1.04", "0.80"]
    assert lines[3].split("|")[-2].strip() == "0.800"


def test_every_system_of_the_table_is_measured():
    runs = {(search, schedule) for searches, schedules in measured_table.RUNS
            for search in searches.split(",") for schedule in schedules.split(",")}
    assert runs == set(measured_table.COLUMNS.values())
