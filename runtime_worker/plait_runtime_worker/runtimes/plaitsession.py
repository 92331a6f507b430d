"""plait.InferenceSession with everything bound, in which the nodes that plait lacks run in ONNX
Runtime. It is asked for models with such nodes only: others a worker of plait's own times."""

from plait_runtime_worker.runtimes import onnxruntime

DISTRIBUTION = "plait"
MODULES = ("plait", "onnxruntime")
TITLE = "plait.InferenceSession"

# A plan inside the model has its own; what has none computes in fp32.
PRECISIONS = {"strict": "f32", "auto": "auto", "tf32": "f32", "fp16": "f32", "bf16": "bf16"}


def settings(threads, precision):
    """As InferenceSession takes them."""
    del precision
    return {"threads": threads}


class Runtime(onnxruntime.Runtime):
    """Has the methods of onnxruntime's session, and is bound as that is."""

    def __init__(self, threads, precision):
        import plait

        self.api = plait
        self.settings = settings(threads, precision)

    def load(self, model, inputs):
        self.session = self.binding = None  # The last one goes before memory is taken for this one.
        shapes = {name: value.shape for name, value in inputs.items()}
        self.session = self.api.InferenceSession(model, input_shapes=shapes, **self.settings)
        self.binding = self._bind(inputs)
