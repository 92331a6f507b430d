#!/usr/bin/env python3
"""Optimizes models on a GPU as a user does, through a plaitd and its worker; keeps the reports.

    bench/gpu/jobs.py --wheel plait-*.whl --out results/jobs.json [--models ...] [--settings ...]

The wheel has all programs that this needs; --programs names a folder with them instead. Models are
drawn from the skeletons of bench/models. Settings, each for the models named beside it:

    strict       fp32, all models
    sequential   the same on one stream, models with branches: what several streams are worth
    greedy, nimble, ios, opara   the same by the other policies, models with branches
    tf32, fp16, bf16   --precision of that name, which allows an error of 1e-3, 1e-2 or 5e-2, models
                 of large products
    batch8       strict at batch 8, three models

A daemon remembers what it has timed, so that a model's jobs by other policies have a third of the
budget. Jobs are run by their worth (ORDER): the two small models with branches and what one stream
is to them, two others, the other policies, and then the rest.

An entry of the file is what a job's report says of original, result, equivalence and search; jobs
that the file has already are left out. Exit codes: 0 all have ended well, 1 one has not, 2 usage.
"""

import argparse
import datetime
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench" / "models"))

MODELS = ("resnet50", "inception_v3", "bert_base", "nasnet_mobile", "mobilenet_v2", "squeezenet",
          "densenet121", "efficientnet_b0", "vit_b_16", "resnext50", "gpt2", "rnntc_sru",
          "bert_large", "nasnet_large")
BRANCHED = ("inception_v3", "nasnet_mobile", "squeezenet", "nasnet_large")
LARGE_PRODUCTS = ("bert_base", "resnet50", "vit_b_16", "inception_v3")
BATCHED = ("resnet50", "inception_v3", "bert_base")
POLICIES = ("sequential", "greedy", "nimble", "ios", "opara")
SETTINGS = {"strict": (MODELS, []),
            **{policy: (BRANCHED, ["--schedule", policy]) for policy in POLICIES},
            **{name: (LARGE_PRODUCTS, ["--precision", name]) for name in ("tf32", "fp16", "bf16")},
            "batch8": (BATCHED, [])}
FIRST = ("inception_v3", "nasnet_mobile")
# The most valuable first: of a setting these models, and at the end all of each.
ORDER = (("strict", FIRST), ("sequential", FIRST), ("strict", ("resnet50", "bert_base")),
         *((policy, FIRST) for policy in POLICIES),
         *((setting, models) for setting, (models, _) in SETTINGS.items()))
POLICY_BUDGET_SHARE = 1 / 3
# Of a job beyond its budget: to import, to export, and what a last step takes.
JOB_SECONDS_BESIDE = 30
KEPT = {"device": ("id", "name", "fingerprint", "predicted"),
        "equivalence": ("verdict", "max_rel_error", "inputs_tried")}


def parse(words=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    programs = parser.add_mutually_exclusive_group(required=True)
    programs.add_argument("--wheel", type=pathlib.Path, help="plait's wheel")
    programs.add_argument("--programs", type=pathlib.Path, help="a folder with plait and plaitd")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="jobs.json")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--models", help="names or files, separated by commas (per setting)")
    parser.add_argument("--settings", default=",".join(SETTINGS),
                        help="separated by commas (all)")
    parser.add_argument("--job-seconds", type=int, default=45, help="budget of a job (45)")
    parser.add_argument("--start-seconds", type=float, default=90,
                        help="that a worker may take to open the device (90)")
    parser.add_argument("--max-seconds", type=float, default=3600, help="for everything (3600)")
    parser.add_argument("--call", default="",
                        help="kept with each entry: which entries belong together (nothing)")
    arguments = parser.parse_args(words)
    unknown = set(arguments.settings.split(",")) - set(SETTINGS)
    if unknown:
        parser.error(f"no setting {sorted(unknown)[0]!r}; there are {', '.join(SETTINGS)}")
    return arguments


class Models:
    """Files of models, restored one after the other on a thread of its own."""

    def __init__(self, folder, wanted):
        self.folder, self.ready, self.failures = folder, {}, {}
        self.changed = threading.Condition()
        threading.Thread(target=self._restore_all, args=(wanted,), daemon=True).start()

    def _restore_all(self, wanted):
        for name, batch in wanted:
            try:
                path = self._restored(name, batch)
            except Exception as error:  # noqa: BLE001 (whatever it is, the next model may do)
                path = None
                self.failures[name, batch] = f"{type(error).__name__}: {error}"
            with self.changed:
                self.ready[name, batch] = path
                self.changed.notify_all()

    def _restored(self, name, batch):
        if pathlib.Path(name).is_file():
            return pathlib.Path(name)
        import onnx  # with numpy, all that is needed beside this tree

        import batch as batching
        import skeleton
        target = self.folder / f"{name}.onnx"
        if not target.is_file():
            skeleton.restore_file(ROOT / "bench/models/skeletons" / f"{name}.skeleton", target)
        if batch == 1:
            return target
        batched = self.folder / f"{name}.batch{batch}.onnx"
        onnx.save(batching.with_batch(onnx.load(str(target)), batch), str(batched))
        return batched

    def file(self, name, batch):
        """Waits for it; None if it could not be made."""
        with self.changed:
            self.changed.wait_for(lambda: (name, batch) in self.ready)
            return self.ready[name, batch]


class Daemon:
    """A plaitd with one worker, alone with the device, on a socket in `folder`."""

    def __init__(self, programs, folder, device):
        self.programs, self.address = programs, f"unix:{folder}/plaitd.sock"
        self.log = (folder / "plaitd.log").open("wb")
        self.process = subprocess.Popen(
            [programs / "plaitd", "--data-dir", folder / "data", "--listen", self.address,
             "--insecure", "--workers", device, "--runtimes-python", "none"],
            stdout=subprocess.DEVNULL, stderr=self.log)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()

    def await_device(self, device, seconds_max):
        deadline = time.monotonic() + seconds_max
        while time.monotonic() < deadline and self.process.poll() is None:
            listed = subprocess.run([self.programs / "plait", "devices", "--server", self.address,
                                     "--json"], capture_output=True, text=True, check=False)
            if listed.returncode == 0 and any(one["id"] == device and one["workers"]
                                              for one in json.loads(listed.stdout)["devices"]):
                return True
            time.sleep(0.2)
        return False


def entry_of(report, words, model, setting, began):
    """What is kept of a report."""
    entry = {name: {field: report[name][field] for field in fields}
             for name, fields in KEPT.items()}
    entry |= {"model": model, "setting": setting, "command": " ".join(words),
              "device_alone": True, "baseline": report["baseline"],
              "optimized": report["optimized"], "search": report["search"],
              "speedup": [report["speedup_low"], report["speedup"], report["speedup_high"]],
              "streams": report["plan"]["streams"], "sources": report["engine_version"],
              "time_utc": began.strftime("%H:%M")}
    return entry


class Recorder:
    def __init__(self, arguments, programs):
        self.arguments, self.programs = arguments, programs
        self.deadline = time.monotonic() + arguments.max_seconds
        out = arguments.out
        self.entries = json.loads(out.read_text()) if out.is_file() else []
        self.is_well = True

    def wanted(self):
        """(setting, model, options, batch) of each job that the file lacks, in order."""
        seen = {(entry.get("setting", "strict"), entry["model"]) for entry in self.entries}
        chosen = self.arguments.settings.split(",")
        order = ORDER
        if self.arguments.models:
            order = tuple((setting, self.arguments.models.split(",")) for setting in chosen)
        for setting, models in order:
            for model in models:
                name = (setting, pathlib.Path(model).stem)
                if setting in chosen and name not in seen:
                    seen.add(name)
                    yield setting, model, SETTINGS[setting][1], 8 if setting == "batch8" else 1

    def job_seconds(self, setting):
        share = POLICY_BUDGET_SHARE if setting in POLICIES else 1
        return max(1, round(share * self.arguments.job_seconds))

    def run(self, folder):
        wanted = list(self.wanted())
        models = Models(folder, [(model, batch) for _, model, _, batch in wanted])
        with Daemon(self.programs, folder, self.arguments.device) as daemon:
            if not daemon.await_device(self.arguments.device, self.arguments.start_seconds):
                print(f"no worker serves {self.arguments.device}:", flush=True)
                print((folder / "plaitd.log").read_text(errors="replace")[-2000:], flush=True)
                self.is_well = False
                return
            for setting, model, options, batch in wanted:
                # A job that needs less may still fit.
                if time.monotonic() + self.job_seconds(setting) > self.deadline:
                    print(f"no time for {pathlib.Path(model).stem}, {setting}", flush=True)
                    continue
                self.run_job(daemon, models, (setting, model, options, batch))

    def run_job(self, daemon, models, job):
        setting, model, options, batch = job
        name = pathlib.Path(model).stem
        path = models.file(model, batch)
        if path is None:
            self.fail(f"{name}, {setting}: {models.failures[model, batch]}")
            return
        words = ["optimize", "MODEL", "--device", self.arguments.device, "--no-result-cache",
                 "--runtime", "plait", "--json", "--budget",
                 f"{self.job_seconds(setting)}s", *options]
        command = [daemon.programs / "plait", *words, "--server", daemon.address,
                   "-o", models.folder / "out.onnx"]
        command[2] = path
        began = datetime.datetime.now(datetime.timezone.utc)
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False,
                                  timeout=self.job_seconds(setting) + JOB_SECONDS_BESIDE)
        except subprocess.TimeoutExpired:
            self.fail(f"{name}, {setting}: takes longer than its budget")
            return
        if done.returncode != 0:
            self.fail(f"{name}, {setting}: {(done.stderr.strip() or 'no message')[-400:]}")
            return
        entry = entry_of(json.loads(done.stdout), ["plait", *words], name, setting, began)
        entry["call"] = self.arguments.call
        self.entries.append(entry)
        self.write()
        self.tell(entry)

    def tell(self, entry):
        times = [entry[side].get("latency_us_median") or entry[side]["predicted_us"]
                 for side in ("baseline", "optimized")]
        search = entry["search"]
        print(f"{entry['model']}, {entry['setting']}: {times[0]:.0f} -> {times[1]:.0f} us, "
              f"{entry['optimized']['origin']}, {entry['equivalence']['verdict']} "
              f"({entry['equivalence']['max_rel_error']:.1e}), {entry['streams']} streams; "
              f"{search['profiles_measured']} profiles in {search['profiling_seconds']:.0f} s, "
              f"{search['candidates_measured']} candidates verified in "
              f"{search['verification_seconds']:.0f} s", flush=True)

    def fail(self, text):
        self.is_well = False
        print(f"failed: {text}", flush=True)

    def write(self):
        part = self.arguments.out.with_suffix(".part")
        part.write_text(json.dumps(self.entries, indent=1) + "\n")
        os.replace(part, self.arguments.out)


def unpacked(wheel, folder):
    """The folder of the wheel's programs."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    programs = folder / "plait" / "bin"
    for program in programs.iterdir():
        program.chmod(0o755)
    return programs


def main():
    arguments = parse()
    with tempfile.TemporaryDirectory(prefix="plait-jobs-") as name:
        folder = pathlib.Path(name)
        programs = (arguments.programs.resolve() if arguments.programs
                    else unpacked(arguments.wheel, folder / "wheel"))
        recorder = Recorder(arguments, programs)
        recorder.run(folder)
    return 0 if recorder.is_well else 1


if __name__ == "__main__":
    sys.exit(main())
