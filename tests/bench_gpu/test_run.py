"""The steps of `run`, the checks of `import`, and both together on the processor."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import pytest

import device_facts
import pack
import profile_packing
import results_folder
import run_steps

RECORDER = pathlib.Path(
    os.environ.get("PLAIT_BUILD", pathlib.Path(__file__).parents[2] / "build")) / pack.RECORDER
TINY_KERNEL = json.dumps({
    "family": "conv", "graph": "graph {\n}\n", "formats": "plain,plain", "cold_weights": True,
    "problem": "conv", "n": 1, "c": 16, "h": 8, "w": 8, "k": 16, "r": 1, "s": 1, "stride": [1, 1],
    "dilation": [1, 1], "pad": [0, 0, 0, 0], "groups": 1, "bias": False, "residual": False,
    "prologue_relu": False, "activation": "none", "origin": "model", "priority": 0,
    "models": {"resnet50": 1}}) + "\n"
GPU = pathlib.Path(run_steps.__file__).resolve().parent
KERNEL = {"family": "conv", "graph": "graph {\n}\n", "priority": 0}
DEVICE = {"device": "cuda", "fake": False, "name": "NVIDIA H200", "date": "2026-01-02T03:04:05Z",
          "command": "bench/gpu/run", "commit": "abc", "gpu": {"driver_version": "580.1"},
          "processor": {"name": "a processor", "cores": 16},
          "versions": {"python": "3.12", "kernel": "6", "nvcc": "13.0.88", "cmake": "3.28",
                       "packages": {"torch": "2.11"}},
          "libraries": {"cudnn": {"path": "/x", "version": 91900}, "cublasLt": {}, "nvrtc": {}}}
PROFILE = {"kernel": 0, "record": "profile", "device": "NVIDIA H200", "family": "conv",
           "variant": "fp16/nhwc/cudnn/eng1", "cold_weights": True, "samples": 60,
           "latency_us_median": 12.5, "latency_us_p10": 12.0}
FAILED = {"kernel": 0, "record": "failure", "device": "NVIDIA H200", "family": "conv",
          "variant": "fp16/nhwc/cudnn/eng2", "failure": "wrong: relative L2 error 0.5"}
DONE = {"kernel": 0, "record": "done", "device": "NVIDIA H200", "family": "conv", "candidates": 2}
CONSTANTS = {"device": "NVIDIA H200", "constants": [
    {"name": "copy", "parameter": 1024, "unit": "GB/s", "value": 4000.0, "p10": 3900.0, "mad": 1.0,
     "samples": 40}], "failures": [{"group": "clocks", "reason": "no NVML"}]}
CONTENTION = [{"record": "alone", "kernels": 1, "held_out": False},
              {"record": "contention", "kernels": 2, "held_out": True},
              {"record": "contention", "kernels": 2, "held_out": False}]
JOBS = [{"model": "resnet50", "setting": setting, "baseline": {"latency_us_median": 1600.0},
         "optimized": {"latency_us_median": us, "origin": "searched"}, "time_utc": "10:00",
         "equivalence": {"verdict": "equivalent", "max_rel_error": 1e-7}}
        for setting, us in (("strict", 1000.0), ("tf32", 400.0))]
PEERS = {"device": "cuda", "entries": [{"model": "resnet50", "precision": "tf32", "peers": {
    "eager": {"latency_us_median": 5000.4, "latency_us_p10": 4900.0, "timer": "events"},
    "jax": {"latency_us_median": 700.0, "latency_us_p10": 690.0, "timer": "host"},
    "compile": {"failure": "no answer within 75 s"}}}]}


def write_folder(folder, **changes):
    """A results folder as a GPU machine would leave it; `changes` replace files' contents."""
    files = {"device.json": json.dumps(DEVICE), "kernels.jsonl": json.dumps(KERNEL) + "\n",
             "profiles.jsonl": "".join(
                 json.dumps(r) + "\n" for r in (PROFILE, {**PROFILE, "cold_weights": False},
                                                FAILED, DONE)),
             "peers.json": json.dumps(PEERS), "run.log": "done\n",
             "constants.json": json.dumps(CONSTANTS), "jobs.json": json.dumps(JOBS),
             "contention.jsonl": "".join(json.dumps(r) + "\n" for r in CONTENTION)}
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in {**files, **{k.replace("__", "."): v for k, v in changes.items()}}.items():
        if text is not None:
            (folder / name).write_text(text)
    return folder


def run_import(folder, into, *options):
    return subprocess.run(
        [sys.executable, str(GPU / "import"), str(folder), "--into", str(into), *options],
        capture_output=True, text=True, check=False)


def test_import_writes_a_folder_and_its_readme(tmp_path):
    folder = write_folder(tmp_path / "r")
    result = run_import(folder, tmp_path / "into")
    assert result.returncode == 0, result.stderr
    target = tmp_path / "into" / "nvidia-h200" / "2026-01-02"
    text = (target / "README.md").read_text()
    for part in ("| driver | 580.1 |", "| cudnn | 91900 |", "| conv | 1 | 1 | 1 | 1 |",
                 "| 1 | wrong: relative L2 error 0.5 |",
                 "| copy | 1024 | 4000 | GB/s | 3900 | 40 |", "| clocks | no NVML |",
                 "| resnet50 | tf32 | 5000 (4900) | 700* (690) | failed |",
                 "no answer within 75 s", "| 2 | 2 | 1 |", "| ? | ? | 1 |",
                 # In strict fp32; the peers were in TF32.
                 "| resnet50 | 1600 | 1000 | searched | 1.0e-07 | not run |"):
        assert part in text, part
    assert (target / "profiles.jsonl").read_bytes() == (folder / "profiles.jsonl").read_bytes()
    again = run_import(folder, tmp_path / "into")
    assert again.returncode == 1 and "there already" in again.stderr


def changed(record, **changes):
    return json.dumps({**record, **changes}) + "\n"


@pytest.mark.parametrize("name, text, words", [
    ("device__json", None, "device.json is missing"),
    ("device__json", changed(DEVICE, fake=True), "no measurements"),
    ("device__json", changed(DEVICE, device="cpu"), "no measurements"),
    ("device__json", "{", "device.json: not JSON"),
    ("profiles__jsonl", changed(PROFILE, device="fake"), "fake device"),
    ("profiles__jsonl", changed(PROFILE, fake=True), "fake device"),
    ("profiles__jsonl", changed(PROFILE, kernel=1), "kernel 1' is not in kernels.jsonl"),
    ("profiles__jsonl", changed(PROFILE, graph="other"), "does not list"),
    ("profiles__jsonl", changed(PROFILE, family="pool"), "does not list"),
    ("profiles__jsonl", changed(PROFILE, latency_us_median=0.0), "without a time"),
    ("profiles__jsonl", changed(PROFILE, samples=0), "without a time"),
    ("profiles__jsonl", "{\n" + changed(PROFILE), "profiles.jsonl:1: not JSON"),
    ("profiles__jsonl", "[]\n" + changed(PROFILE), "not an object"),
    ("constants__json", json.dumps({"fake": True}), "fake device"),
    ("contention__jsonl", changed({"kernels": []}, device="fake"), "fake device"),
    ("peers__json", changed(PEERS, device="cpu"), "timed on a processor"),
    ("notes__txt", "hello", "not a file of a results folder")])
def test_import_refuses(tmp_path, name, text, words):
    folder = write_folder(tmp_path / "r", **{name: text})
    result = run_import(folder, tmp_path / "into")
    assert result.returncode == 1 and words in result.stderr
    assert not (tmp_path / "into").exists()


def test_a_last_line_that_was_cut_off_is_left_out(tmp_path):
    text = json.dumps(PROFILE) + "\n" + json.dumps(PROFILE)[:40]
    folder = write_folder(tmp_path / "r", profiles__jsonl=text)
    assert len(results_folder.Results(folder).profiles) == 1
    assert run_import(folder, tmp_path / "into").returncode == 0


def test_files_over_the_limit_are_refused(tmp_path, monkeypatch):
    folder = write_folder(tmp_path / "r")
    monkeypatch.setattr(results_folder, "FILE_BYTES_MAX", 100)
    with pytest.raises(results_folder.FolderFault, match="larger than"):
        results_folder.Results(folder).check()


@pytest.fixture
def steps(tmp_path):
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    out = tmp_path / "out"
    out.mkdir()
    made = run_steps.Steps(run_steps.Log(out / "run.log"), 60.0)
    made.out = out
    yield made
    for number, handler in before.items():
        signal.signal(number, handler)


def python(code):
    return [sys.executable, "-c", code]


def test_steps_say_how_they_ended(steps):
    assert steps.run("good", python("print('hello')"), 20)
    assert not steps.run("bad", python("import sys; sys.exit(3)"), 20)
    assert not steps.run("slow", python("import time; time.sleep(30)"), 1.5)
    states = dict(steps.results)
    assert states["good"].startswith("done")
    assert states["bad"].startswith("failed with exit code 3")
    assert states["slow"].startswith("cut off at its deadline")
    assert "   hello" in (steps.out / "run.log").read_text()


def test_a_step_that_is_cut_off_may_write_what_it_has(steps):
    path = steps.out / "constants.json"
    code = ("import signal, sys, time\n"
            f"def end(*_):\n open({str(path)!r}, 'w').write('here'); sys.exit(0)\n"
            "signal.signal(signal.SIGTERM, end)\ntime.sleep(30)")
    steps.run("constants", python(code), 2)
    assert path.read_text() == "here"


KERNELS = [{"graph": f"graph {index} " + "x" * 400} for index in range(3)]


def recorded_line(index, **more):
    return json.dumps({"record": "profile", "graph": KERNELS[index]["graph"], "origin": "model",
                       "family": "conv", "latency_us_median": 1.0, **more}) + "\n"


def test_packing_follows_the_recorder_and_is_undone(tmp_path):
    source = tmp_path / "source.jsonl"
    packer = profile_packing.Packer(source, tmp_path, KERNELS)
    packer.sync()  # nothing is there yet
    source.write_text(recorded_line(2) + recorded_line(0)[:50])
    packer.sync()
    packed = results_folder.read_lines(tmp_path / "profiles.jsonl")
    assert packed == [{"kernel": 2, "record": "profile", "family": "conv",
                       "latency_us_median": 1.0}]
    assert profile_packing.unpack(packed[0], KERNELS)["graph"] == KERNELS[2]["graph"]
    source.write_text(recorded_line(2) + recorded_line(0))
    packer.sync()
    packer.sync()
    packed = results_folder.read_lines(tmp_path / "profiles.jsonl")
    assert [record["kernel"] for record in packed] == [2, 0]
    with pytest.raises(KeyError):
        profile_packing.unpack({"kernel": 3}, KERNELS)
    with pytest.raises(KeyError):
        profile_packing.unpack({"kernel": -1}, KERNELS)


def test_full_files_end_their_step(tmp_path, steps, monkeypatch):
    monkeypatch.setattr(profile_packing, "PACKED_BYTES_MAX", 250)
    monkeypatch.setattr(run_steps, "SYNC_S", 0.1)
    source = tmp_path / "source.jsonl"
    steps.packer = profile_packing.Packer(source, steps.out, KERNELS)
    lines = "".join(recorded_line(index % 3, number=index) for index in range(8))
    steps.run("kernels", python(
        f"import time\nopen({str(source)!r}, 'w').write({lines!r})\ntime.sleep(30)"), 20)
    assert dict(steps.results)["kernels"].startswith("cut off: the profile files are full")
    kept = [record["number"] for name in profile_packing.PACKED_FILES
            for record in results_folder.read_lines(steps.out / name)]
    assert kept == list(range(len(kept))) and 2 <= len(kept) < 8
    assert steps.packer.dropped == 8 - len(kept)
    assert all((steps.out / name).stat().st_size <= 250 for name in profile_packing.PACKED_FILES)


def test_without_time_a_step_is_skipped(tmp_path):
    steps = run_steps.Steps(run_steps.Log(tmp_path / "run.log"), 1.0)
    assert not steps.run("late", python("pass"), 10)
    assert steps.results == [("late", "skipped: no time left")]


SMI = """
GPU 00000000:8F:00.0
    Product Name                          : NVIDIA H200
    Clocks
        Graphics                          : 345 MHz
        SM                                : 345 MHz
    Max Clocks
        SM                                : 1980 MHz
    Processes                             : None
"""


def test_sections_of_nvidia_smi():
    assert device_facts.smi_sections(SMI) == {
        "Clocks": ["Graphics: 345 MHz", "SM: 345 MHz"], "Max Clocks": ["SM: 1980 MHz"]}


def run_program(*options, **more):
    return subprocess.Popen([sys.executable, str(GPU / "run"), *map(str, options)],
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)


def test_without_a_gpu_the_run_says_so(tmp_path):
    if device_facts.gpu_facts():
        pytest.skip("there is a GPU here")
    process = run_program("--out", tmp_path / "out")
    text, _ = process.communicate(timeout=60)
    assert process.returncode == 1 and "--device cpu" in text


@pytest.fixture
def no_compiler(tmp_path):
    """Folders of programs of which none compiles."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("sh", "git", "uname"):
        (folder / name).symlink_to(shutil.which(name))
    return {"PATH": str(folder)}


@pytest.mark.skipif(not RECORDER.is_file(), reason="plait-gpu-record is not built")
def test_with_a_pack_nothing_is_compiled(tmp_path, no_compiler):
    folder = tmp_path / "pack"
    pack.pack_program(RECORDER, folder)
    (folder / pack.KERNEL_LIST).write_text(TINY_KERNEL)
    out = tmp_path / "out"
    process = run_program("--device", "cpu", "--tiny", "--pack", folder, "--build",
                          tmp_path / "nothing", "--steps", "constants,conformance,seeds", "--out",
                          out, env={**os.environ, **no_compiler})
    text, _ = process.communicate(timeout=120)
    assert process.returncode == 0, text
    assert "== build: not needed" in text and "== constants: done" in text
    assert {path.name for path in out.iterdir()} == {
        "constants.json", "device.json", "kernels.jsonl", "profiles.jsonl", "run.log"}
    assert {path.name for path in (tmp_path / "nothing").iterdir()} == {"results"}


def test_a_pack_that_lacks_something_is_told(tmp_path):
    process = run_program("--pack", tmp_path / "none", "--out", tmp_path / "out")
    text, _ = process.communicate(timeout=60)
    assert process.returncode == 2 and "no such folder" in text
    (tmp_path / "pack").mkdir()
    process = run_program("--device", "cpu", "--steps", "constants", "--pack", tmp_path / "pack",
                          "--build", tmp_path / "work", "--out", tmp_path / "out")
    text, _ = process.communicate(timeout=60)
    assert process.returncode == 1 and "the pack has no plait-gpu-record" in text


PEER_OPTIONS = "--peers eager --models tiny_sru --precisions strict"


def test_run_on_the_processor_and_import(tmp_path):
    pytest.importorskip("torch", reason="torch is not installed here")
    out = tmp_path / "out"
    process = run_program("--device", "cpu", "--tiny", "--steps", "peers", "--peer-options",
                          PEER_OPTIONS, "--out", out)
    text, _ = process.communicate(timeout=300)
    assert process.returncode == 0, text
    assert {path.name for path in out.iterdir()} == {
        "device.json", "kernels.jsonl", "peers.json", "run.log"}
    assert json.loads((out / "device.json").read_text())["fake"] is True
    assert "of at most 64" in text and "tiny_sru" in text
    refused = run_import(out, tmp_path / "into")
    assert refused.returncode == 1 and "no measurements" in refused.stderr
    allowed = run_import(out, tmp_path / "into", "--allow-fake")
    assert allowed.returncode == 0, allowed.stderr
    readme, = (tmp_path / "into").glob("fake/*/README.md")
    assert "nothing here was measured" in readme.read_text()


def test_a_run_that_is_told_to_end_writes_what_there_is(tmp_path):
    pytest.importorskip("torch", reason="torch is not installed here")
    out = tmp_path / "out"
    process = run_program("--device", "cpu", "--tiny", "--steps", "peers", "--out", out)
    deadline = time.monotonic() + 120
    while "== peers" not in (out / "run.log").read_text() if (out / "run.log").exists() else True:
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.2)
    os.kill(process.pid, signal.SIGTERM)
    text, _ = process.communicate(timeout=60)
    assert process.returncode == 143 and "interrupted" in text and "run.log:" in text
