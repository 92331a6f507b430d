"""One runtime in a process of its own: answers JSON lines on stdin with JSON lines on stdout.

    {"command": "load", "model": PATH, "folder": DIR}   {"version": "1.2", "load_ms": 12.5}
    {"command": "time", "runs": N}                      {"samples_us": [...]}
    {"command": "first", "folder": DIR}                 {"samples_us": [N]}
    {"command": "outputs", "folder": DIR}               {"ok": true}
    {"command": "quit"}                                 (the process ends)

What plait loads is also answered "plan", a sentence: which plan the session runs, and why. "first"
is for NAME-shapes, whose inputs come in many shapes: it times one run on these. Those are loaded
without a folder, and so without a run.
The folders hold a file NAME.npy for each input or output, in whose name '_' stands for '/' and ':'.
A command that fails is answered {"error": "..."} and the process goes on. Started by peers.py; a
process that waits for a command uses no processor time.
"""

import argparse
import json
import os
import pathlib
import sys
import time

import numpy as np


def npy_path(folder, name):
    """The file of an input or output, as plait has it too."""
    return pathlib.Path(folder) / (name.replace("/", "_").replace(":", "_") + ".npy")


class OnnxRuntime:
    """ONNX Runtime on the CPU with all graph optimizations, bound inputs and outputs.

    It computes in fp32 whatever the precision: it has no bf16 arithmetic on processors.
    """

    told = {}

    def __init__(self, threads, precision):
        import onnxruntime
        del precision
        self.api = onnxruntime
        self.version = onnxruntime.__version__
        self.threads = threads

    def open(self, path):
        options = self.api.SessionOptions()
        options.intra_op_num_threads = self.threads
        options.inter_op_num_threads = 1
        options.graph_optimization_level = self.api.GraphOptimizationLevel.ORT_ENABLE_ALL
        options.log_severity_level = 3
        return self.api.InferenceSession(path, options, providers=["CPUExecutionProvider"])

    def load(self, path, folder):
        self.session = self.open(path)
        self.binding = self.session.io_binding()
        for value in self.session.get_inputs():
            self.binding.bind_cpu_input(value.name, np.load(npy_path(folder, value.name)))
        self.names = [value.name for value in self.session.get_outputs()]
        for name in self.names:
            self.binding.bind_output(name, "cpu")

    def run(self):
        self.session.run_with_iobinding(self.binding)

    def outputs(self):
        return dict(zip(self.names, self.binding.copy_outputs_to_cpu()))


class OpenVino:
    """OpenVINO on the CPU, told the precision: its default on some processors is bf16."""

    told = {}

    def __init__(self, threads, precision):
        import openvino
        self.api = openvino
        self.version = openvino.__version__.split("-")[0]
        self.threads = threads
        self.precision = {"fp32": "f32", "bf16": "bf16"}[precision]

    def load(self, path, folder):
        core = self.api.Core()
        options = {"INFERENCE_PRECISION_HINT": self.precision,
                   "INFERENCE_NUM_THREADS": self.threads,
                   "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY"}
        self.compiled = core.compile_model(core.read_model(path), "CPU", options)
        self.request = self.compiled.create_infer_request()
        self.feeds = []  # The tensors share this memory, so it must stay alive.
        for port in self.compiled.inputs:
            # It may have given the input several names.
            paths = (npy_path(folder, name) for name in sorted(port.names))
            self.feeds.append(np.load(next(path for path in paths if path.is_file())))
            self.request.set_tensor(port, self.api.Tensor(self.feeds[-1], shared_memory=True))

    def run(self):
        self.request.start_async()
        self.request.wait()

    def outputs(self):
        return {name: np.array(self.request.get_tensor(port).data)
                for port in self.compiled.outputs for name in port.names}


class PlaitSession:
    """plait as a Python program has it: plait.InferenceSession, its own buffers bound, threads
    left where the system puts them. A plan that may lose accuracy has no figure in fp32: peers.py
    looks at the file first."""

    def __init__(self, threads, precision):
        import plait
        del precision
        self.api = plait
        self.version = plait.__version__
        self.threads = threads

    def open(self, path):
        return self.api.InferenceSession(path, threads=self.threads)

    def load(self, path, folder):
        self.session = self.open(path)
        self.told = {"plan": self.session.plan}
        self.binding = self.session.io_binding()
        for value in self.session.get_inputs():
            buffer = self.session.input_buffer(value.name)
            buffer[...] = np.load(npy_path(folder, value.name))
            self.binding.bind_cpu_input(value.name, buffer)
        self.names = [value.name for value in self.session.get_outputs()]
        for name in self.names:
            self.binding.bind_output(name)

    def run(self):
        self.session.run_with_iobinding(self.binding)

    def outputs(self):
        return dict(zip(self.names, self.binding.copy_outputs_to_cpu()))


class AnyShape:
    """The session of one of those above, whose inputs come in many shapes: nothing is bound, since
    only a run tells the shapes of outputs."""

    told = {}

    def __init__(self, runtime):
        self.runtime = runtime
        self.version = runtime.version

    def load(self, path, folder):
        del folder
        self.session = self.runtime.open(path)
        self.names = [value.name for value in self.session.get_outputs()]

    def feed(self, folder):
        """The inputs of the runs that follow."""
        self.feeds = {value.name: np.load(npy_path(folder, value.name))
                      for value in self.session.get_inputs()}

    def run(self):
        self.arrays = self.session.run(None, self.feeds)

    def outputs(self):
        return dict(zip(self.names, self.arrays))


RUNTIMES = {
    "onnxruntime": OnnxRuntime, "openvino": OpenVino, "plait": PlaitSession,
    "onnxruntime-shapes": lambda *options: AnyShape(OnnxRuntime(*options)),
    "plait-shapes": lambda *options: AnyShape(PlaitSession(*options)),
}


def answer(runtime, request):
    """Executes one command and returns its answer."""
    command = request["command"]
    if command == "load":
        began = time.perf_counter()
        runtime.load(request["model"], request["folder"])
        if request["folder"]:
            runtime.run()
        return {"version": runtime.version,
                "load_ms": (time.perf_counter() - began) * 1000, **runtime.told}
    if command == "time":
        return {"samples_us": time_runs(runtime, request["runs"])}
    if command == "first":
        runtime.feed(request["folder"])
        return {"samples_us": [time_run(runtime)]}
    if command == "outputs":
        runtime.run()
        for name, array in runtime.outputs().items():
            np.save(npy_path(request["folder"], name), array)
        return {"ok": True}
    raise ValueError(f"unknown command {command!r}")


def time_runs(runtime, runs):
    """Times each run by itself, after two that wake the threads up and are not counted."""
    for _ in range(2):
        runtime.run()
    return [time_run(runtime) for _ in range(runs)]


def time_run(runtime):
    """Microseconds of a run."""
    began = time.perf_counter_ns()
    runtime.run()
    return (time.perf_counter_ns() - began) / 1000


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runtime", required=True, choices=RUNTIMES)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="fp32")
    arguments = parser.parse_args()
    # Libraries print to stdout as they like; only answers may reach the real one.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    runtime = None
    for line in sys.stdin:
        request = json.loads(line)
        if request["command"] == "quit":
            break
        try:
            runtime = runtime or RUNTIMES[arguments.runtime](arguments.threads, arguments.precision)
            reply = answer(runtime, request)
        # A runtime that rejects a model raises whatever it likes; the table shows the message.
        except Exception as error:  # pylint: disable=broad-except
            reply = {"error": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(reply) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
