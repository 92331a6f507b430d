#!/usr/bin/env python3
"""Times the peers on the bench models: the same graph, weights and inputs in each.

Each peer is a process of its own. They are prepared one after another, because autotuning needs the
device alone; every output is compared with float64; then a token goes round, and only its holder
computes. Results are written after each model and precision, and what is there is not run again.
"""

import argparse
import json
import pathlib
import platform
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from peer_process import PeerFailure, PeerProcess  # noqa: E402 (found through the line above)
from peer_runners import PRECISIONS, RUNNERS  # noqa: E402

MODELS = ("resnet50", "inception_v3", "bert_base", "rnntc_sru", "resnext50", "nasnet_mobile",
          "bert_large", "densenet121", "efficientnet_b0", "gpt2", "mobilenet_v2", "nasnet_large",
          "squeezenet", "vit_b_16")
TINY_MODELS = ("tiny_resnet", "tiny_bert")
# Relative L2 error against float64 that a precision may have.
ERROR_MAX = {"strict": 1e-5, "tf32": 1e-3, "fp16": 1e-2}
LOAD_S_MAX = 120
TURN_S_MAX = 60


def relative_error(path, reference):
    """The relative L2 error of the worst output; nan when anything is not a number."""
    worst = 0.0
    with np.load(path) as actual, np.load(reference) as expected:
        if actual.files != expected.files:
            return float("nan")
        for name in expected.files:
            a, b = actual[name], expected[name]
            if a.shape != b.shape or not np.isfinite(a).all():
                return float("nan")
            worst = max(worst, float(np.linalg.norm(a - b) / np.linalg.norm(b)))
    return worst


def summary(turns):
    """Medians, p10 and spread over all turns of a peer."""
    def pooled(name):
        return [sample for turn in turns for sample in turn[name]]
    device, host, cold = pooled("device_us"), pooled("host_us"), pooled("cold_us")
    medians = [float(np.median(turn["device_us"])) for turn in turns]
    return {
        "timer": turns[0]["timer"], "samples": len(device),
        "replays": sum(turn["replays"] for turn in turns),
        "latency_us_median": float(np.median(device)),
        "latency_us_p10": float(np.percentile(device, 10)),
        "spread": (max(medians) - min(medians)) / float(np.median(medians)),
        "host_latency_us_p50": float(np.percentile(host, 50)),
        "host_latency_us_p99": float(np.percentile(host, 99)),
        "cold_latency_us_median": float(np.median(cold)) if cold else None,
        "round_latency_us_median": medians}


class Clock:
    """Reads the SM clock beside a turn; 0 where there is no GPU to ask."""

    def __init__(self, device):
        self.command = ["nvidia-smi", "--query-gpu=clocks.sm", "--format=csv,noheader,nounits"] \
            if device == "cuda" else None

    def start(self):
        self.process = None
        if self.command:
            self.process = subprocess.Popen(
                self.command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def read_mhz(self):
        try:
            text = self.process.communicate(timeout=10)[0] if self.process else ""
            return int(text.splitlines()[0])
        except (IndexError, ValueError, subprocess.TimeoutExpired):
            return 0


class Coordinator:
    """Runs all peers on one model after the other and keeps the result file."""

    def __init__(self, arguments):
        self.arguments = arguments
        self.deadline = time.monotonic() + arguments.max_seconds
        self.peers = {name: PeerProcess(name, arguments.device) for name in arguments.peers}
        # float64 is computed in eager's process, which waits for its turn anyway.
        self.reference = self.peers.get("eager") or PeerProcess("eager", arguments.device)
        self.folder = tempfile.TemporaryDirectory()
        self.result = {"device": arguments.device, "python": platform.python_version(),
                       "versions": {}, "rounds": arguments.rounds, "seed": arguments.seed,
                       "entries": []}
        if arguments.out.is_file():
            self.result = json.loads(arguments.out.read_text())

    def left_s(self):
        return self.deadline - time.monotonic()

    def close(self):
        for peer in (*self.peers.values(), self.reference):
            peer.kill()
        self.folder.cleanup()

    def has(self, model, precision):
        """Whether the entry is there with every peer that is asked for."""
        return any((entry["model"], entry["precision"]) == (model, precision)
                   and set(self.peers) <= set(entry["peers"]) for entry in self.result["entries"])

    def run_model(self, model):
        """All precisions of one model, as far as time allows."""
        wanted = [p for p in self.arguments.precisions if not self.has(model, p)]
        if not wanted or self.left_s() <= 0:
            return
        reference = str(pathlib.Path(self.folder.name) / f"{model}.npz")
        self.load(model, {*self.peers.values(), self.reference})
        if not self.make_reference(model, reference):
            return
        for precision in wanted:
            if self.left_s() <= 0:
                return
            self.record(model, precision, self.run_entry(model, precision, reference))

    def load(self, model, peers):
        """Loads the model into these processes at once: that is work for processors.

        Returns failures by process; whoever failed is asked again when its turn to prepare comes.
        """
        failures = {}
        for peer in peers:
            peer.send("load", model=model, seed=self.arguments.seed)
        for peer in peers:
            try:
                peer.receive(LOAD_S_MAX)
            except PeerFailure as failure:
                failures[peer] = str(failure)
                peer.kill()
        return failures

    def make_reference(self, model, path):
        """The outputs in float64; without them nothing could be checked."""
        try:
            if not self.reference.running:
                self.reference.ask(LOAD_S_MAX, "load", model=model, seed=self.arguments.seed)
            self.reference.ask(LOAD_S_MAX, "reference", path=path)
            return True
        except PeerFailure as failure:
            print(f"peers.py: {model}: no reference: {failure}", file=sys.stderr)
            for precision in self.arguments.precisions:
                self.record(model, precision, {
                    name: {"failure": f"no reference: {failure}"} for name in self.peers})
            return False

    def run_entry(self, model, precision, reference):
        """One model in one precision: prepare, check, then rounds. Returns peers' records."""
        records = {}
        for name in self.peers:
            try:
                records[name] = self.prepare(model, name, precision, reference)
            except PeerFailure as failure:
                records[name] = {"failure": str(failure)}
        ready = [name for name, record in records.items() if "failure" not in record]
        turns = {name: [] for name in ready}
        clocks = self.play_rounds(ready, turns, records)
        for name in ready:
            if "failure" not in records[name]:
                records[name].update(summary(turns[name]), sm_clock_mhz=clocks)
            if self.peers[name].running:
                self.peers[name].send("release")
                try:
                    self.peers[name].receive(TURN_S_MAX)
                except PeerFailure:
                    pass  # it starts anew with the next model
        return records

    def prepare(self, model, name, precision, reference):
        peer = self.peers[name]
        if not peer.running:
            failures = self.load(model, [peer])
            if failures:
                raise PeerFailure(failures[peer])
        path = str(pathlib.Path(self.folder.name) / f"{name}.npz")
        cap = max(5.0, min(self.arguments.prepare_seconds, self.left_s()))
        reply = peer.ask(cap, "prepare", precision=precision, path=path)
        self.result["versions"][name] = reply.pop("version")
        error = relative_error(path, reference)
        if not error <= ERROR_MAX[precision]:
            raise PeerFailure(f"wrong: relative L2 error {error:.2e}, at most "
                              f"{ERROR_MAX[precision]:.0e} is right")
        return {**reply, "error_l2": error}

    def play_rounds(self, ready, turns, records):
        """The token goes round; the order turns by one place each round."""
        clock, clocks = Clock(self.arguments.device), []
        for round_index in range(self.arguments.rounds):
            shift = round_index % len(ready) if ready else 0
            for place, name in enumerate(ready[shift:] + ready[:shift]):
                if "failure" in records[name]:
                    continue
                if place == 0:
                    clock.start()
                try:
                    turns[name].append(self.peers[name].ask(
                        TURN_S_MAX, "turn", turn_s=self.arguments.turn_seconds))
                except PeerFailure as failure:
                    records[name] = {"failure": str(failure)}
                if place == 0:
                    clocks.append(clock.read_mhz())
        return clocks

    def record(self, model, precision, peers):
        """Keeps the entry and writes the file, atomically."""
        entries = [entry for entry in self.result["entries"]
                   if (entry["model"], entry["precision"]) != (model, precision)]
        entries.append({"model": model, "precision": precision, "batch": 1,
                        "call": self.arguments.call, "peers": peers})
        self.result["entries"] = entries
        temporary = self.arguments.out.with_name(self.arguments.out.name + ".part")
        temporary.write_text(json.dumps(self.result, indent=1) + "\n")
        temporary.replace(self.arguments.out)
        print(table_rows(entries[-1:]), flush=True)


def table_rows(entries):
    """One line per entry: the median of each peer in microseconds, or that it failed."""
    lines = []
    for entry in entries:
        cells = []
        for name, record in entry["peers"].items():
            value = "failed" if "failure" in record else f"{record['latency_us_median']:.0f}"
            cells.append(f"{name} {value}")
        lines.append(f"{entry['model']:16}{entry['precision']:8}" + "  ".join(cells))
    return "\n".join(lines)


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, required=True, help="peers.json; resumed")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--tiny", action="store_true", help="two light models")
    parser.add_argument("--models", help="comma-separated (all)")
    parser.add_argument("--peers", default=",".join(RUNNERS))
    parser.add_argument("--precisions", default=",".join(PRECISIONS))
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--turn-seconds", type=float, default=0.4,
                        help="what one turn may take; replays are cut to fit (0.4)")
    parser.add_argument("--prepare-seconds", type=float, default=75.0,
                        help="cap for preparing one peer (75)")
    parser.add_argument("--max-seconds", type=float, default=3600.0)
    parser.add_argument("--seed", type=int, default=1, help="seed of the inputs (1)")
    parser.add_argument("--call", default="",
                        help="kept with each entry: which entries belong together (nothing)")
    arguments = parser.parse_args()
    default = TINY_MODELS if arguments.tiny else MODELS
    arguments.models = arguments.models.split(",") if arguments.models else default
    for name, known in (("peers", RUNNERS), ("precisions", PRECISIONS)):
        chosen = getattr(arguments, name).split(",")
        unknown = set(chosen) - set(known)
        if unknown:
            parser.error(f"unknown {sorted(unknown)[0]!r}; there are {', '.join(known)}")
        setattr(arguments, name, chosen)
    return arguments


def main():
    arguments = parse()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    coordinator = Coordinator(arguments)
    try:
        for model in arguments.models:
            coordinator.run_model(model)
    finally:
        coordinator.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
