"""ONNX Runtime on the processor, with all graph optimizations, inputs and outputs bound."""

DISTRIBUTION = "onnxruntime"
MODULES = ("onnxruntime",)
TITLE = "ONNX Runtime"

# It has no other arithmetic on processors.
PRECISIONS = {"strict": "f32", "auto": "f32", "tf32": "f32", "fp16": "f32", "bf16": "f32"}


def settings(threads, precision):
    """As attributes of SessionOptions, of which none is a precision."""
    del precision
    return {
        "intra_op_num_threads": threads,
        "inter_op_num_threads": 1,
        "graph_optimization_level": "ORT_ENABLE_ALL",
    }


class Runtime:
    """A session with everything bound, so that a run copies nothing in Python."""

    def __init__(self, threads, precision):
        import onnxruntime

        self.api = onnxruntime
        self.settings = settings(threads, precision)

    def load(self, model, inputs):
        options = self.api.SessionOptions()
        for name, value in self.settings.items():
            if name == "graph_optimization_level":
                value = getattr(self.api.GraphOptimizationLevel, value)
            setattr(options, name, value)
        options.log_severity_level = 4
        self.session = None  # The last one goes before memory is taken for this one.
        self.session = self.api.InferenceSession(
            model, options, providers=["CPUExecutionProvider"]
        )
        self.binding = self._bind(inputs)

    def names(self):
        return [value.name for value in self.session.get_outputs()]

    def run(self):
        self.session.run_with_iobinding(self.binding)

    def outputs(self, inputs):
        binding = self._bind(inputs)
        self.session.run_with_iobinding(binding)
        return binding.copy_outputs_to_cpu()

    def _bind(self, inputs):
        binding = self.session.io_binding()
        for value in self.session.get_inputs():
            binding.bind_cpu_input(value.name, inputs[value.name])
        for name in self.names():
            binding.bind_output(name, "cpu")
        return binding
