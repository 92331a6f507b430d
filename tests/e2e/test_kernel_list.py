"""`plait kernels`: what a recording is told to measure is what a search asks a device for."""

import json

import pytest

import models
from rpc import state_of


def c_unescaped(text):
    return text.encode().decode("unicode_escape")


def keys_asked_for(client, name):
    """The families and graphs of the profile keys that a job for a described GPU used."""
    job = client.wait_for_end(
        client.submit(client.upload(models.light_model(name)), device="model:h200",
                      budget_seconds=20.0).id)
    assert state_of(job) == "SUCCEEDED", job.error.message
    log = client.download(job.result.measurement_log).decode()
    keys = [line.split("\t")[1] for line in log.splitlines() if line.startswith("profile\t")]
    fields = [dict(field.split("=", 1) for field in c_unescaped(key).split("\t") if "=" in field)
              for key in keys]
    return {(field["family"], c_unescaped(field["graph"])) for field in fields}


@pytest.mark.parametrize("name", ["tiny_resnet", "tiny_mobilenet", "tiny_inception", "tiny_bert"])
def test_a_search_asks_for_the_listed_kernels(cli, client, folder, name):
    path = folder / f"{name}.onnx"
    path.write_bytes(models.light_model(name))
    lines = [json.loads(line)
             for line in cli.run("kernels", path, "--jsonl").expect(0).out.splitlines()]
    keys = [(line["family"], line["graph"], line["formats"]) for line in lines]
    assert len(keys) == len(set(keys))
    assert [line["priority"] for line in lines] == sorted(line["priority"] for line in lines)
    planned = {(line["family"], line["graph"]) for line in lines if line["planned"]}
    missing = planned - keys_asked_for(client, name)
    assert planned and not missing, f"{len(missing)} of {len(planned)}, such as {min(missing)}"


def test_the_document_and_the_table(cli, model_file, folder):
    model = model_file("tiny_mobilenet")
    listed = cli.run("kernels", model, "--json").expect(0).json
    assert listed["device"] == "model:h200"
    assert {"conv", "matmul", "pool"} <= {kernel["family"] for kernel in listed["kernels"]}
    table = cli.run("kernels", model, "--device", "model:a100").expect(0).out
    assert "matmul" in table
    cli.run("kernels", model, "--device", "model:nothing").expect(9)
    (folder / "no_model.onnx").write_bytes(b"no model")
    cli.run("kernels", folder / "no_model.onnx").expect(3)
