"""A task of the server's, from its message to the message that answers it."""

import math
import time

import grpc

from plait_runtime_worker import blobs, measure, protocol, runtimes, session

ERROR_BYTES_MAX = 2000
# Of processor time that a session may take beyond what the task's time allows.
CPU_SECONDS_MORE = 60
SECONDS_MAX = 86_400
CODES = {code.name: code.value[0] for code in grpc.StatusCode}


class TaskFault(Exception):
    """The task as a whole cannot be done."""

    def __init__(self, code, text):
        super().__init__(text)
        self.code = code


def run(task, server, worker, should_stop):
    """Returns the TaskResult. `worker` has the runtime, threads, memory_bytes and paths. Raises
    measure.Aborted."""
    try:
        if task.WhichOneof("work") != "measure_models":
            raise TaskFault("UNIMPLEMENTED", f"a worker of {worker.runtime} measures whole models "
                                             "only")
        return _measure(task, server, worker, should_stop)
    except TaskFault as fault:
        return _error(fault.code, str(fault))
    except blobs.Refused as error:
        return _error("DATA_LOSS", str(error))
    except session.Overdue:
        return _error("DEADLINE_EXCEEDED", f"{worker.runtime} took longer than the task may")
    except grpc.RpcError as error:
        return _error(error.code().name, f"a blob was not sent: {error.details()}")


def _measure(task, server, worker, should_stop):
    asked = task.measure_models
    if not 1 <= len(asked.models) <= measure.MODELS_MAX or not asked.input_sets:
        raise TaskFault("INVALID_ARGUMENT", "a task needs 1 to 8 models and a set of inputs")
    if asked.threads < 0 or asked.rounds < 1 or not asked.seconds_max >= 0:
        raise TaskFault("INVALID_ARGUMENT", "rounds must be positive, threads and seconds not below"
                                            " 0")
    began = time.monotonic()
    threads = asked.threads or worker.threads
    try:
        options = runtimes.options(worker.runtime, threads, asked.precision or "strict")
    except KeyError:
        raise TaskFault("UNIMPLEMENTED",
                        f"{worker.runtime} does not know precision {asked.precision!r}") from None
    seconds = task.deadline_seconds if 0 < task.deadline_seconds < SECONDS_MAX else SECONDS_MAX
    settings = measure.Settings(
        worker.runtime, threads, asked.precision or "strict", worker.memory_bytes,
        math.ceil(seconds) * threads + CPU_SECONDS_MORE, worker.paths)
    rounds = measure.Rounds(max(1, asked.loads), asked.rounds, asked.rounds_min, asked.seconds_max)
    sets = [_inputs(one, asked.inputs, server) for one in asked.input_sets]
    models = [blobs.fetch(server, digest) for digest in asked.models]
    measurement = measure.Measurement(settings, rounds, began + seconds, should_stop)
    measured = measurement.run(models, sets)
    # A load in which the original failed has no round.
    while measurement.load_rounds and measurement.load_rounds[-1] == 0:
        measurement.load_rounds.pop()
    result = protocol.TaskResult()
    result.measure_models.options = options
    for model in measured:
        _fill(result.measure_models.models.add(), model, measurement.load_rounds)
    return result


def _inputs(given, inputs, server):
    """A set of inputs as (name, dtype, dims, bytes)."""
    values = {value.name: value.blob for value in given.values}
    described = []
    for one in inputs:
        if one.data_type not in session.NUMPY_TYPES:
            raise TaskFault("UNIMPLEMENTED", f"input {one.name} has ONNX's type {one.data_type}, "
                                             "of which there are no values here")
        if one.name not in values:
            raise TaskFault("INVALID_ARGUMENT", f"input {one.name} has no value")
        dtype = session.NUMPY_TYPES[one.data_type]
        data = blobs.fetch(server, values[one.name])
        if len(data) != math.prod(one.dims) * int(dtype[2:]):
            raise TaskFault("INVALID_ARGUMENT", f"input {one.name} has {len(data)} bytes")
        described.append((one.name, dtype, list(one.dims), data))
    return described


def _fill(message, model, load_rounds):
    if model.error or not model.comparison:
        message.error = (model.error or "not run, because the original does not run")[
            :ERROR_BYTES_MAX]
        return
    message.latency_us.extend(model.latency_us)
    message.load_ms.extend(model.load_ms[: len(load_rounds)])
    message.load_rounds.extend(load_rounds)
    comparison = model.comparison
    message.max_abs_error = comparison.max_abs_error
    message.max_rel_error = comparison.max_rel_error
    message.max_channel_error = comparison.max_channel_error
    message.inputs_tried = comparison.inputs_tried
    message.dead_outputs = comparison.dead_outputs
    for absolute, relative, channel, rms in comparison.outputs[:256]:
        message.outputs.add(max_abs_error=absolute, max_rel_error=relative,
                            max_channel_error=channel, rms_error=rms)


def _error(code, text):
    result = protocol.TaskResult()
    result.error.code = CODES[code]
    result.error.message = text[:ERROR_BYTES_MAX]
    return result
