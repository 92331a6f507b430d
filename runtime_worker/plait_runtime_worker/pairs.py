"""Two models side by side in a runtime, for `plait gate`: the program that it starts.

Frames come on stdin and go to stdout (see frames). It begins with {"device", "options"}, or with
{"missing": WHY} where the runtime is not installed, and ends with stdin. The commands:

    {"inputs": [[[NAME, ONNX's type, [DIM, ..]], ..], ..]}, once    {}
        for each model the values of its inputs and then the model
    {"new_first": B}, a load of both    {"base_us": [..], "new_us": [..]}, a time for each round

Each may be answered with {"error": TEXT, "model": I} instead: what the runtime has against one.
"""

import argparse
import contextlib
import os
import statistics
import sys
import time

from plait_runtime_worker import device, frames, measure, runtimes, session

# Even numbers: each model is the first one of a round as often as the other.
ROUNDS_MIN = 2
ROUNDS_MAX = 8
# Whatever hangs; a load of the largest models takes a minute.
LOAD_SECONDS_MAX = 600


class Refused(Exception):
    """The runtime does not run one of the models."""

    def __init__(self, model, text):
        super().__init__(text)
        self.model = model


class Pair:
    """The models, as (bytes, sets of inputs), and the processes that they run in."""

    def __init__(self, settings, models):
        self.settings = settings
        self.models = models

    def measure(self, new_first):
        """Loads both anew, each in a process of its own, and runs them in turn. A process is as
        lucky or unlucky with its memory as long as it lives, so that none outlives a load. Returns
        the microseconds of each one's rounds. Raises Refused."""
        ends_at = time.monotonic() + LOAD_SECONDS_MAX
        began = time.monotonic()
        taken = ([], [])
        with contextlib.ExitStack() as stack:
            processes = {}
            for model in (1, 0) if new_first else (0, 1):
                process = guarded(model, session.Session, self.settings, ends_at)
                processes[model] = stack.enter_context(process)
                guarded(model, process.give, *self.models[model])
                guarded(model, process.load)
            # By the base for both: what is compared is taken alike.
            turn = measure.turn_of(guarded(0, processes[0].time, 0, 1)[0])
            loaded = time.monotonic()
            for number in range(ROUNDS_MAX):
                is_enough = number >= ROUNDS_MIN and number % 2 == 0
                if is_enough and time.monotonic() - loaded > loaded - began:
                    break
                for model in (1, 0) if new_first == (number % 2 == 0) else (0, 1):
                    samples = guarded(model, processes[model].time, *turn)
                    taken[model].append(statistics.median(samples))
        return taken


def guarded(model, step, *arguments):
    """What a step returns; its errors as the model's."""
    try:
        return step(*arguments)
    except session.Failed as error:
        raise Refused(model, str(error)) from error
    except session.Overdue:
        raise Refused(model, f"a load and its runs take more than {LOAD_SECONDS_MAX} s") from None


def models_of(fields, runs):
    """Both models, as Session.give takes them. Raises Refused for an input of a type that no array
    has."""
    values = iter(runs)
    models = []
    for described in fields["inputs"]:
        inputs = []
        for name, data_type, dims in described:
            if data_type not in session.NUMPY_TYPES:
                raise Refused(len(models), f"input {name} has ONNX's type {data_type}, of which "
                                           "there are no values here")
            inputs.append((name, session.NUMPY_TYPES[data_type], dims, next(values)))
        models.append((next(values), [inputs]))
    return models


def parse():
    parser = argparse.ArgumentParser(prog="plait_runtime_worker.pairs",
                                     description="Times two ONNX models in a runtime, in turns.")
    parser.add_argument("--runtime", choices=runtimes.NAMES, required=True)
    parser.add_argument("--threads", type=int, required=True, help="of a model")
    parser.add_argument("--memory-bytes", type=int, required=True, help="memory of a model")
    return parser.parse_args()


def settings_of(arguments):
    cpu_seconds = LOAD_SECONDS_MAX * arguments.threads
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    return measure.Settings(arguments.runtime, arguments.threads, "strict", arguments.memory_bytes,
                            cpu_seconds, paths)


def answers_of(settings, reader):
    """What each command is answered with, as long as there are any."""
    pair = None
    while True:
        fields, runs = reader.read()
        try:
            if pair is None:
                pair = Pair(settings, models_of(fields, runs))
                yield {}
            else:
                base_us, new_us = pair.measure(fields["new_first"])
                yield {"base_us": base_us, "new_us": new_us}
        except Refused as error:
            yield {"error": str(error), "model": error.model}


def main():
    arguments = parse()
    answers, reader = frames.standard_streams()
    try:
        described = device.describe(arguments.runtime, arguments.threads, arguments.memory_bytes)
    except runtimes.Missing as error:
        frames.write(answers, {"missing": str(error)})
        return 0
    options = runtimes.options(arguments.runtime, arguments.threads, "strict")
    try:
        frames.write(answers, {"device": described, "options": options})
        for answer in answers_of(settings_of(arguments), reader):
            frames.write(answers, answer)
    except frames.Broken:
        pass  # plait has seen enough, or is gone.
    return 0


if __name__ == "__main__":
    sys.exit(main())
