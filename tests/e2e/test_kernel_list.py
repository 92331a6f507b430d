"""What bench/gpu lists for a recording is what a search asks a device for: the same keys."""

import sys

import pytest

import models
import programs
from rpc import state_of

sys.path.insert(0, str(programs.ROOT / "bench" / "gpu"))

import kernels  # noqa: E402 (found through the line above)
import model_graph  # noqa: E402


def c_unescaped(text):
    return text.encode().decode("unicode_escape")


def graphs_asked_for(client, name):
    """The graphs of the profile keys that a job used."""
    job = client.wait_for_end(
        client.submit(client.upload(models.light_model(name)), budget_seconds=20.0).id)
    assert state_of(job) == "SUCCEEDED", job.error.message
    log = client.download(job.result.measurement_log).decode()
    keys = [line.split("\t")[1] for line in log.splitlines() if line.startswith("profile\t")]
    fields = [field for key in keys for field in c_unescaped(key).split("\t")]
    return {c_unescaped(field.removeprefix("graph=")) for field in fields
            if field.startswith("graph=")}


def listed_graphs(name):
    """The graphs of kernels that stand in the model. Elementwise groups are the search's choice."""
    records = {}
    kernels.add_model(records, model_graph.load(models.light.build(name)), name)
    return {graph for (family, graph), record in records.items()
            if record["origin"] == "model" and family != "elementwise"}


@pytest.mark.parametrize("name", ["tiny_resnet", "tiny_mobilenet", "tiny_inception", "tiny_bert"])
def test_a_search_asks_for_the_listed_kernels(client, name):
    listed = listed_graphs(name)
    missing = listed - graphs_asked_for(client, name)
    assert not missing, f"{len(missing)} of {len(listed)}, such as\n{min(missing, key=len)}"
