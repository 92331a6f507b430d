#!/usr/bin/env python3
"""One peer in a process of its own: reads commands from stdin, one JSON line each, and answers."""

import argparse
import gc
import json
import os
import pathlib
import sys
import time
import traceback

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import numpy as np  # noqa: E402

import peer_runners  # noqa: E402


class Child:
    """The state between commands; every command_* returns what is sent back."""

    def __init__(self, peer, device):
        self.peer, self.device = peer, device
        self.graph = self.feeds = self.runner = self.timer = None

    def command_load(self, model, seed):
        self.command_release()
        self.graph = None
        begin = time.monotonic()
        self.graph, self.feeds = peer_runners.load_model(model, seed)
        return {"load_s": time.monotonic() - begin}

    def command_reference(self, path):
        outputs = peer_runners.reference_outputs(self.graph, self.feeds, self.device)
        np.savez(path, *outputs)
        self.command_release()
        return {"elements": sum(output.size for output in outputs)}

    def command_prepare(self, precision, path):
        self.command_release()
        begin = time.monotonic()
        runner = peer_runners.RUNNERS[self.peer]
        self.runner = runner(self.graph, self.feeds[0], precision, self.device)
        prepare_s = time.monotonic() - begin
        np.savez(path, *peer_runners.checked_outputs(self.runner, self.feeds))
        self.timer = self.runner.timer()
        return {"prepare_s": prepare_s, "version": runner.version()}

    def command_turn(self, turn_s):
        return self.timer.turn(turn_s)

    def command_release(self):
        self.runner = self.timer = None
        gc.collect()
        if "torch" in sys.modules and self.device == "cuda":
            sys.modules["torch"].cuda.empty_cache()
        return {}


def serve(child, commands, answers):
    """Answers until the commands end."""
    for line in commands:
        request = json.loads(line)
        command = request.pop("command")
        if command == "quit":
            return
        try:
            reply = getattr(child, f"command_{command}")(**request)
        except peer_runners.Unavailable as error:
            reply = {"failure": str(error)}
        except Exception as error:  # whatever a framework throws is this peer's result
            traceback.print_exc()
            reply = {"failure": " ".join(f"{type(error).__name__}: {error}".split())[:300]}
        answers.write(json.dumps(reply) + "\n")
        answers.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer", choices=peer_runners.RUNNERS, required=True)
    parser.add_argument("--device", choices=("cuda", "cpu"), required=True)
    arguments = parser.parse_args()
    # Frameworks print to stdout when they like; the answers get a descriptor of their own.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    serve(Child(arguments.peer, arguments.device), sys.stdin, answers)
    return 0


if __name__ == "__main__":
    sys.exit(main())
