"""plait.InferenceSession with everything bound, in which the nodes that plait lacks run in ONNX
Runtime. It is asked for models with such nodes only: others a worker of plait's own times."""

DISTRIBUTION = "plait"
MODULES = ("plait", "onnxruntime")
TITLE = "plait.InferenceSession"

# A plan inside the model has its own; what has none computes in fp32.
PRECISIONS = {"strict": "f32", "auto": "auto", "tf32": "f32", "fp16": "f32", "bf16": "bf16"}


def settings(threads, precision):
    """As InferenceSession takes them."""
    del precision
    return {"threads": threads}


class Runtime:
    """A session with everything bound, so that a run copies nothing in Python."""

    def __init__(self, threads, precision):
        import plait

        self.api = plait
        self.settings = settings(threads, precision)

    def load(self, model, inputs):
        self.session = self.binding = None  # The last one goes before memory is taken for this one.
        shapes = {name: value.shape for name, value in inputs.items()}
        self.session = self.api.InferenceSession(model, input_shapes=shapes, **self.settings)
        self.binding = self._bind(inputs)

    def names(self):
        return [value.name for value in self.session.get_outputs()]

    def run(self):
        self.session.run_with_iobinding(self.binding)

    def outputs(self, inputs):
        return self.session.run(None, inputs)

    def _bind(self, inputs):
        binding = self.session.io_binding()
        for value in self.session.get_inputs():
            binding.bind_cpu_input(value.name, inputs[value.name])
        for name in self.names():
            binding.bind_output(name)
        return binding
