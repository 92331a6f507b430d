"""What bench/peers keeps of jobs, from a report of `plait optimize` to the verdicts on it."""

import json
import sys

import jsonschema
import pytest
from test_peers import PLAIT, ROOT, call, compare, light

sys.path.insert(0, str(ROOT / "tests" / "e2e"))

import job_records  # noqa: E402 (found through test_peers)
import schemas  # noqa: E402 (found through the line above)

PEERS = ROOT / "bench" / "peers"


def keep(record, *reports):
    return call(sys.executable, PEERS / "job_records.py", *reports, "--json", record)


@pytest.fixture(name="folder", scope="module")
def fixture_folder(tmp_path_factory):
    """A folder with a model, its optimized file, what the job reported and the record of that."""
    folder = tmp_path_factory.mktemp("jobs")
    model = light.write("tiny_mobilenet", folder)
    (folder / "optimized").mkdir()
    done = call(PLAIT, "optimize", model, "-o", folder / "optimized" / model.name, "--json",
                "--budget", "3s", "--threads", 2, "--cache-dir", folder / "cache")
    assert done.returncode == 0, done.stderr
    (folder / "tiny_mobilenet.json").write_text(done.stdout)
    done = keep(folder / "jobs.json", folder / "tiny_mobilenet.json")
    assert done.returncode == 0, done.stderr
    return folder


def without_required(schema):
    """The schema of a part of a document."""
    if isinstance(schema, list):
        return [without_required(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {key: without_required(value) for key, value in schema.items() if key != "required"}


def test_a_record_is_a_part_of_the_report_as_its_schema_has_it(folder):
    report = json.loads((folder / "tiny_mobilenet.json").read_text())
    (job,) = json.loads((folder / "jobs.json").read_text())["jobs"]
    assert job.pop("name") == "tiny_mobilenet"
    jsonschema.validate(job, without_required(schemas.closed(schemas.load("optimize"))))
    assert job["recommended"] == report["recommended"] and job["recommended"]["latency_us"] > 0
    assert job["output"]["digest"] == report["output"]["digest"]
    assert [line["ratio_low"] for line in job["runtimes"]] == [
        line["ratio_low"] for line in report["runtimes"]]
    assert len(json.dumps(job)) < len(json.dumps(report)) / 2


def count_all_rounds(peers):
    """A busy machine may disturb every round, of which nothing is judged."""
    record = json.loads(peers.read_text())
    for entry_round in record["models"][0]["rounds"]:
        entry_round["dropped"] = None
    peers.write_text(json.dumps(record))


def test_a_job_is_judged_by_what_was_measured_of_the_file_that_it_returned(folder):
    model = folder / "tiny_mobilenet.onnx"
    compare(model, "--optimized", folder / "optimized")
    peers, record = folder / "peers.json", folder / "jobs.json"
    count_all_rounds(peers)
    # Noise decides what is fastest in one round, but not that the two belong together.
    done = call(sys.executable, PEERS / "recommended.py", peers, record, "--slower-max", 1e9)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "of the fastest: 1 of 1" in done.stdout
    done = call(sys.executable, PEERS / "gains.py", peers, "--jobs", record)
    assert done.returncode == 0 and "Of 1 bodies" in done.stdout, done.stderr
    # What plait ran before is another file.
    peers.unlink()
    compare(model, "--seed", 2)
    for command in (("recommended.py", peers, record), ("gains.py", peers, "--jobs", record)):
        done = call(sys.executable, PEERS / command[0], *command[1:])
        assert done.returncode == 1 and "no job returned the file" in done.stderr


@pytest.mark.parametrize("text", [
    "no JSON", "[]", "{}", '{"schema_version": 2}', '{"schema_version": 1, "model": 3}'])
def test_what_is_no_report_is_named(tmp_path, text):
    (tmp_path / "other.json").write_text(text)
    done = keep(tmp_path / "jobs.json", tmp_path / "other.json")
    assert done.returncode == 1 and "other.json" in done.stderr and "Traceback" not in done.stderr
    assert not (tmp_path / "jobs.json").exists()
    with pytest.raises(job_records.RecordFailure, match="other.json"):
        job_records.read([tmp_path / "other.json"])
