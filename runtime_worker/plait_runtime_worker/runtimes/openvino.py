"""OpenVINO on the processor, at the latency hint and told the precision."""

DISTRIBUTION = "openvino"
MODULES = ("openvino",)
TITLE = "OpenVINO"

# Where a processor has bf16 units OpenVINO computes in bf16 unless it is told otherwise. What it
# loses then is more than most jobs allow, and it cannot be told how much that is: only a job that
# asks for bf16 gets it.
PRECISIONS = {"strict": "f32", "auto": "f32", "tf32": "f32", "fp16": "f32", "bf16": "bf16"}


def settings(threads, precision):
    """As compile_model takes them."""
    return {
        "INFERENCE_PRECISION_HINT": PRECISIONS[precision],
        "INFERENCE_NUM_THREADS": threads,
        "NUM_STREAMS": 1,
        "PERFORMANCE_HINT": "LATENCY",
    }


class Runtime:
    """Symbolic dimensions are bound before compiling, which is what makes it fastest."""

    def __init__(self, threads, precision):
        import openvino

        self.api = openvino
        self.settings = settings(threads, precision)

    def load(self, model, inputs):
        self.compiled = self.request = None
        core = self.api.Core()
        read = core.read_model(model, b"")
        if read.is_dynamic():
            shapes = {}
            for port in read.inputs:
                shapes[port] = self.api.PartialShape(list(self._array(inputs, port).shape))
            read.reshape(shapes)
        self.compiled = core.compile_model(read, "CPU", self.settings)
        self.request = self.compiled.create_infer_request()
        self._feed(inputs)

    def names(self):
        return [self._name(port) for port in self.compiled.outputs]

    def run(self):
        self.request.start_async()
        self.request.wait()

    def outputs(self, inputs):
        import numpy

        timed = self.feeds
        self._feed(inputs)
        self.run()
        results = [
            numpy.array(self.request.get_tensor(port).data) for port in self.compiled.outputs
        ]
        self._set(timed)
        return results

    def _feed(self, inputs):
        self._set([self._array(inputs, port) for port in self.compiled.inputs])

    def _set(self, feeds):
        self.feeds = feeds  # The tensors share this memory, so it must stay alive.
        for port, array in zip(self.compiled.inputs, feeds):
            self.request.set_tensor(port, self.api.Tensor(array, shared_memory=True))

    def _array(self, inputs, port):
        names = [name for name in port.names if name in inputs]
        if not names:
            raise KeyError(f"no value for input {self._name(port)}")
        return inputs[names[0]]

    @staticmethod
    def _name(port):
        return sorted(port.names)[0] if port.names else f"output {port.index}"
