"""The peers: ways in which a user would run the same ONNX graph, behind one interface.

A runner is made for one model and one precision; step() enqueues one inference on inputs that lie
on the device already. A new peer is a class here and a line in RUNNERS.
"""

import numpy as np

import model_graph
import peer_timers

PRECISIONS = ("strict", "tf32", "fp16")
WARM_UP_STEPS = 10


class Unavailable(Exception):
    """The peer cannot run here; the message says why."""


class TorchRunner:
    """Torch's eager mode, and what the other torch peers share."""

    channels_last = False
    cudnn_benchmark = False

    def __init__(self, graph, feeds, precision, device):
        import onnx_to_torch  # not at the top: jax's process never loads torch
        import torch
        self.torch, self.device = torch, torch.device(device)
        self._set_flags(precision)
        dtype = torch.float16 if precision == "fp16" else torch.float32
        self.module = onnx_to_torch.to_module(graph, dtype).to(self.device)
        self.names, self.to_tensor = graph.inputs, onnx_to_torch.to_tensor
        self.dtype = dtype
        tensors = [self.to_tensor(feeds[name], dtype) for name in graph.inputs]
        self.inputs = [self._placed(tensor.to(self.device)) for tensor in tensors]
        if self.channels_last:
            for name, buffer in self.module.named_buffers():
                setattr(self.module, name, self._placed(buffer))
        self.function = self.module
        with torch.no_grad():
            self.make()
            for _ in range(WARM_UP_STEPS):
                self.step()
        self.wait()

    def _placed(self, tensor):
        if self.channels_last and tensor.dim() == 4:
            return tensor.contiguous(memory_format=self.torch.channels_last)
        return tensor

    def _set_flags(self, precision):
        """Alike for all torch peers: what rounds inputs is on in tf32 and off in strict."""
        torch = self.torch
        torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")
        torch.backends.cudnn.allow_tf32 = precision == "tf32"
        torch.backends.cudnn.benchmark = self.cudnn_benchmark

    def set_inputs(self, feeds):
        """Overwrites the inputs where they lie, so that whatever was captured reads them."""
        for name, tensor in zip(self.names, self.inputs):
            tensor.copy_(self.to_tensor(feeds[name], self.dtype))

    def make(self):
        """Turns self.module into self.function."""

    def step(self):
        with self.torch.no_grad():
            self.results = self.function(*self.inputs)

    def wait(self):
        if self.device.type == "cuda":
            self.torch.cuda.synchronize()

    def outputs(self):
        """The results of one step as float64 arrays."""
        self.step()
        self.wait()
        return [result.detach().double().cpu().numpy() for result in self.results]

    def timer(self):
        if self.device.type == "cuda":
            return peer_timers.EventTimer(self.torch, self.step, self.device)
        return peer_timers.HostTimer(self.step, self.wait)

    @staticmethod
    def version():
        import torch
        # Without a GPU the question alone may fail, where torch and toolkit bring two cuDNNs.
        cudnn = torch.backends.cudnn.version() if torch.cuda.is_available() else "unused"
        return f"torch {torch.__version__}, cuDNN {cudnn}"


class CudaGraphRunner(TorchRunner):
    """Eager operators in channels_last, tuned by cuDNN, captured into one CUDA graph."""

    channels_last = True
    cudnn_benchmark = True

    def make(self):
        torch = self.torch
        if self.device.type != "cuda":
            raise Unavailable("needs a GPU")
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                self.module(*self.inputs)
        torch.cuda.current_stream().wait_stream(stream)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.results = self.module(*self.inputs)

    def step(self):
        self.graph.replay()


class TorchScriptRunner(TorchRunner):
    """Traced, frozen and optimized for inference."""

    def make(self):
        torch = self.torch
        traced = torch.jit.trace(self.module, self.inputs, check_trace=False)
        self.function = torch.jit.optimize_for_inference(torch.jit.freeze(traced.eval()))


class CompileRunner(TorchRunner):
    """torch.compile with autotuning, frozen weights and CUDA graphs."""

    def make(self):
        torch = self.torch
        import torch._dynamo
        import torch._inductor.config
        torch._dynamo.reset()  # the last model's code
        torch._inductor.config.freezing = True
        # Inputs are not marked static: freezing would fold the whole network over them. So every
        # replay copies them, some microseconds of device time that belong to this peer.
        # On the processor only the dry run comes by, which has no minutes to tune.
        mode = "max-autotune" if self.device.type == "cuda" else "default"
        self.function = torch.compile(self.module, mode=mode, fullgraph=True, dynamic=False)

    def step(self):
        self.torch.compiler.cudagraph_mark_step_begin()
        super().step()


class JaxRunner:
    """jax.jit, so XLA."""

    def __init__(self, graph, feeds, precision, device):
        try:
            import jax
        except ImportError as error:
            raise Unavailable(f"jax is not installed: {error}") from error
        import onnx_to_jax
        self.jax = jax
        platform = "gpu" if device == "cuda" else "cpu"
        try:
            self.device = jax.devices(platform)[0]
        except RuntimeError as error:
            raise Unavailable(f"jax has no {platform}: {str(error).splitlines()[0]}") from error
        jax.config.update("jax_default_matmul_precision",
                          "tensorfloat32" if precision == "tf32" else "highest")
        dtype = np.float16 if precision == "fp16" else np.float32
        function, parameters = onnx_to_jax.to_function(graph, dtype)
        self.parameters = jax.device_put(parameters, self.device)
        self.names, self.dtype, self.to_array = graph.inputs, dtype, onnx_to_jax.to_array
        self.set_inputs(feeds)
        self.function = jax.jit(function).lower(self.parameters, *self.inputs).compile()
        for _ in range(WARM_UP_STEPS):
            self.step()
        self.wait()

    def set_inputs(self, feeds):
        self.inputs = [self.jax.device_put(self.to_array(feeds[name], self.dtype), self.device)
                       for name in self.names]

    def step(self):
        self.results = self.function(self.parameters, *self.inputs)

    def wait(self):
        self.jax.block_until_ready(self.results)

    def outputs(self):
        """The results of one step as float64 arrays."""
        self.step()
        return [np.asarray(result).astype(np.float64) for result in self.results]

    def timer(self):
        """Without events: means over a batch of asynchronous calls, on the host's clock."""
        if self.device.platform == "cpu":
            return peer_timers.HostTimer(self.step, self.wait)
        jnp = self.jax.numpy
        buffer = self.jax.device_put(
            np.ones(peer_timers.FLUSH_BYTES // 4, np.float32), self.device)
        flush = self.jax.jit(lambda x: x * jnp.float32(1.0001))
        return peer_timers.HostTimer(
            self.step, self.wait, lambda: flush(buffer).block_until_ready())

    @staticmethod
    def version():
        import jax
        return f"jax {jax.__version__}"


RUNNERS = {"eager": TorchRunner, "cuda_graph": CudaGraphRunner, "torchscript": TorchScriptRunner,
           "compile": CompileRunner, "jax": JaxRunner}


def reference_outputs(graph, feeds, device):
    """The outputs for each set of inputs in float64, which every peer is compared with."""
    import onnx_to_torch
    import torch
    module = onnx_to_torch.to_module(graph, torch.float64).to(device)
    results = []
    with torch.inference_mode():
        for values in feeds:
            inputs = [onnx_to_torch.to_tensor(values[name], torch.float64).to(device)
                      for name in graph.inputs]
            results += [result.cpu().numpy().astype(np.float64) for result in module(*inputs)]
    return results


def checked_outputs(runner, feeds):
    """The outputs for each set of inputs. A runner that folded its inputs shows in the second."""
    results = []
    for values in reversed(feeds):  # ends with the inputs that are timed
        runner.set_inputs(values)
        results = runner.outputs() + results
    return results


def load_model(name, seed):
    """Returns (graph with parameters, two sets of inputs by name) of a bench or light model."""
    import sample_inputs
    import skeleton
    path = model_graph.MODELS / "skeletons" / f"{name}.skeleton"
    if path.is_file():
        model, recipes = skeleton.read_skeleton(path)
        skeleton.restore(model, recipes)
    else:
        import light
        model = light.build(name)
    feeds = [sample_inputs.model_inputs(model, seed + index) for index in (0, 1)]
    return model_graph.load(model, with_parameters=True), feeds
