"""Models with nodes that plait computes one by one, where nobody brings another runtime: sizes
behind them are known in a run only."""

import json

import numpy as np
import pytest
import strange_models
from installed import programs
from test_python import SANITIZED, python

import models


@pytest.fixture(scope="module")
def cli(tmp_path_factory):
    return programs.Cli(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module", params=strange_models.MODELS)
def files(request, cli, tmp_path_factory):
    """A model, and what `plait optimize` makes of it."""
    folder = tmp_path_factory.mktemp(request.param)
    model, optimized = folder / "model.onnx", folder / "optimized.onnx"
    model.write_bytes(strange_models.MODELS[request.param]())
    cli.run("optimize", model, "-o", optimized, "--budget", "5s", "--runtime", "plait").expect(0)
    return model, optimized


def feeds_of(model, count=4):
    judge = models.session_of(model.read_bytes())
    for seed in range(count):
        feed = strange_models.inputs_of(judge, seed)
        yield feed, dict(zip([arg.name for arg in judge.get_outputs()], judge.run(None, feed)))


def check_equal(found, expected):
    for name, array in expected.items():
        assert (found[name].dtype, found[name].shape) == (array.dtype, array.shape)
        np.testing.assert_allclose(found[name], array, rtol=0, atol=1e-4)


def run_in_cli(cli, model, feed, folder, *options):
    folder.mkdir()
    for name, array in feed.items():
        np.save(folder / f"{name}.npy", array)
    told = cli.run("run", model, "--inputs", folder, "--outputs", folder / "out", "--json",
                   *options).expect(0).json
    return told, {path.stem: np.load(path) for path in (folder / "out").glob("*.npy")}


def test_plait_run_gives_what_onnxruntime_gives(files, cli, tmp_path):
    for number, (feed, expected) in enumerate(feeds_of(files[0])):
        told, found = run_in_cli(cli, files[0], feed, tmp_path / f"original_{number}")
        assert "node by node" in told["plan"]["explanation"]
        check_equal(found, expected)
        told, found = run_in_cli(cli, files[1], feed, tmp_path / f"optimized_{number}",
                                 "--require-plan")
        assert told["plan"]["grade"] == "exact"
        check_equal(found, expected)


def test_plait_verify_compares_the_whole(files, cli):
    for options in ([], ["--plan"]):
        told = cli.run("verify", *files, *options, "--json").expect(0).json
        assert told["verdict"] == "equivalent" and told["inputs_tried"] == 4


SESSION = """
import json, sys
import numpy as np

sys.modules["onnxruntime"] = None  # importing it fails
import plait

session = plait.InferenceSession(sys.argv[1], require_plan=True)
feeds = np.load(sys.argv[2])
outputs = {}
for number in sorted({name.split("/")[0] for name in feeds.files}):
    feed = {name.split("/", 1)[1]: feeds[name] for name in feeds.files
            if name.startswith(number + "/")}
    for name, array in zip([arg.name for arg in session.get_outputs()], session.run(None, feed)):
        outputs[f"{number}/{name}"] = array
np.savez(sys.argv[3], **outputs)
print(json.dumps({"nodes": session.host_nodes, "plan": session.plan}))
"""


@SANITIZED
def test_a_session_needs_no_onnxruntime_for_them(files, installed, tmp_path):
    pairs = list(feeds_of(files[0]))
    np.savez(tmp_path / "feeds.npz", **{f"{number}/{name}": array
                                        for number, (feed, _) in enumerate(pairs)
                                        for name, array in feed.items()})
    told = json.loads(python(installed, "-c", SESSION, files[1], tmp_path / "feeds.npz",
                             tmp_path / "outputs.npz"))
    assert told["nodes"] > 0 and "node by node" in told["plan"]
    outputs = np.load(tmp_path / "outputs.npz")
    for number, (_, expected) in enumerate(pairs):
        check_equal({name: outputs[f"{number}/{name}"] for name in expected}, expected)


def test_nodes_of_others_are_refused_by_name(cli, tmp_path):
    model = tmp_path / "custom.onnx"
    model.write_bytes(strange_models.custom())
    said = cli.run("run", model, "--seed", "1").expect(3).err
    assert "strange: Frobnicate cannot be run: operator of domain 'com.example'" in said
    assert "plait.InferenceSession" in said
