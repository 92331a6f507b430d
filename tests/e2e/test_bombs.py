"""Small files and requests that would take gigabytes: each costs its own job or call, and nothing
else notices."""

import os

import grpc
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import models
import processes
from processes import memory_peak_bytes
from rpc import CALL_SECONDS_MAX, FINAL_STATES, SERVICES, job_reason, state_of, with_length
from waiting import wait_until

pytestmark = pytest.mark.skipif("ASAN_OPTIONS" in os.environ,
                                reason="AddressSanitizer has a memory of its own")

MIB = 1 << 20
DAEMON_BYTES_MAX = 512 * MIB


def model_of(nodes, shape=(4,), functions=()):
    """A model from x to y, of this shape."""
    value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    domains = [helper.make_opsetid("", 17)]
    if functions:
        domains.append(helper.make_opsetid("local", 1))
    graph = helper.make_graph(nodes, "bomb", [value("x")], [value("y")])
    return helper.make_model(graph, opset_imports=domains, functions=list(functions), ir_version=8)


def functions_bomb():
    """2 MB: a function with a tensor of 2 MiB, called 2,000 times."""
    tensor = numpy_helper.from_array(np.zeros(MIB // 2, np.float32))
    body = [helper.make_node("Relu", ["in"], ["out"]),
            helper.make_node("Constant", [], ["weight"], value=tensor)]
    function = helper.make_function("local", "Bomb", ["in"], ["out"], body,
                                    [helper.make_opsetid("", 17)])
    names = ["x", *(f"value_{i}" for i in range(1999)), "y"]
    calls = [helper.make_node("Bomb", [a], [b], domain="local") for a, b in zip(names, names[1:])]
    return model_of(calls, functions=[function]).SerializeToString()


def fields_bomb():
    """34 MB: an initializer of 17 million strings, each of them empty."""
    relu = model_of([helper.make_node("Relu", ["x"], ["y"])])
    initializer = with_length(b"\x2a", b"\x32\x00" * 17_000_000)
    return relu.SerializeToString() + with_length(b"\x3a", initializer)


def activations_bomb():
    """100 bytes: a Relu of 2 GiB."""
    relu = model_of([helper.make_node("Relu", ["x"], ["y"])], shape=(1 << 29,))
    return relu.SerializeToString()


def packed_bomb():
    """128 MiB: a matrix of weights."""
    weights = np.random.default_rng(1).random((8192, 4096), np.float32)
    model = model_of([helper.make_node("MatMul", ["x", "w"], ["y"])], shape=(1, 8192))
    model.graph.output[0].type.tensor_type.shape.dim[1].dim_value = 4096
    model.graph.initializer.append(numpy_helper.from_array(weights, "w"))
    return model.SerializeToString()


def run_bomb(daemon, bomb):
    """Runs a job of the bomb, and another one after it; returns the first one, and the largest
    memory of a search child."""
    with daemon.client() as client:
        digest = client.upload(bomb, MIB)
        job_id = client.submit(digest, search="none").id
        children = [0]

        def is_over():
            children.extend(map(memory_peak_bytes, processes.search_children(daemon.pid)))
            return state_of(client.get(job_id).job) in FINAL_STATES

        wait_until(is_over, "the job is over")
        after = client.submit(client.upload(models.small_model()), search="none").id
        assert state_of(client.wait_for_end(after)) == "SUCCEEDED"
        return client.get(job_id).job, max(children)


def assert_refused(daemon, job, words):
    assert state_of(job) == "FAILED"
    assert job_reason(job) == "LIMIT_EXCEEDED"
    assert words in job.error.message
    assert job.faults == 0 and job.attempts == 1
    assert memory_peak_bytes(daemon.pid) < DAEMON_BYTES_MAX


@pytest.mark.parametrize("bomb, words", [
    (functions_bomb, "functions expand to more than"),
    (fields_bomb, "more than 16000000 fields"),
])
def test_what_expands_is_refused_before_it_has(new_daemon, bomb, words):
    daemon = new_daemon().start()
    worker = daemon.wait_for_worker()
    job, child_bytes = run_bomb(daemon, bomb())
    assert_refused(daemon, job, words)
    assert child_bytes < 1024 * MIB
    assert processes.workers(daemon.pid) == [worker]
    assert daemon.metric("plait_worker_restarts_total") == 0


def test_a_search_that_meets_its_limit_of_memory_says_so(new_daemon):
    daemon = new_daemon("--child-memory-bytes", str(400 * MIB)).start()
    worker = daemon.wait_for_worker()
    job, child_bytes = run_bomb(daemon, functions_bomb())
    assert_refused(daemon, job, "the search needs more memory than this server allows")
    assert child_bytes < 400 * MIB
    assert processes.workers(daemon.pid) == [worker]
    assert daemon.metric("plait_search_child_crashes_total", reason="limit") == 1


def test_a_model_that_needs_too_much_memory_is_refused_before_its_first_task(new_daemon):
    daemon = new_daemon("--worker-memory-bytes", str(1024 * MIB)).start()
    worker = daemon.wait_for_worker()
    with daemon.client() as client:
        entry = client.call("ListDevices").devices[0]
        assert entry.device.memory_bytes == 1024 * MIB
    job, _ = run_bomb(daemon, activations_bomb())
    needed = 2 * 4 * (1 << 29)
    assert_refused(daemon, job, f"model: needs {needed} bytes of memory, device cpu has {1 << 30}")
    assert processes.workers(daemon.pid) == [worker]
    assert daemon.metric("plait_worker_restarts_total") == 0


def test_a_task_that_takes_more_than_was_estimated_costs_its_own_job(new_daemon):
    """The weights fit, but not beside the packed ones that a kernel makes of them."""
    daemon = new_daemon("--worker-memory-bytes", str(240 * MIB)).start()
    daemon.wait_for_worker()
    job, _ = run_bomb(daemon, packed_bomb())
    assert_refused(daemon, job, "(worker_memory_bytes)")
    assert daemon.metric("plait_worker_restarts_total") >= 1


CLIENT_RPCS = [name for name in SERVICES if name != "Synchronize"]
# Parsed, so many take two gigabytes.
CALLERS = 16
# A field with nothing in it, for as often as 4 MiB hold it: the messages of a list, and a field
# that no request has.
BOMBS = {"entries": b"\x0a\x00" * (2 * MIB - 512), "unknown": b"\x7a\x00" * (2 * MIB - 512)}


def throw(client, name, bomb, callers):
    """Calls an RPC by many callers at once, each with these bytes; returns their errors."""
    method = client.method(name)
    invoke = client.channel.unary_stream(f"/{method.containing_service.full_name}/{name}")
    calls = [invoke(bomb, timeout=CALL_SECONDS_MAX) for _ in range(callers)]
    errors = []
    for call in calls:
        with pytest.raises(grpc.RpcError) as refused:
            list(call)
        errors.append(refused.value)
    return errors


def assert_all_refused(client, errors):
    """Refused for what they would take, or because as many are being refused already."""
    codes = {error.code() for error in errors}
    assert codes == {grpc.StatusCode.RESOURCE_EXHAUSTED}
    told = [error for error in errors if "memory" in error.details()]
    assert told
    assert {client.reason(error) for error in told} == {"LIMIT_EXCEEDED"}


@pytest.mark.parametrize("kind", BOMBS)
def test_requests_that_grow_when_they_are_parsed_are_refused(new_daemon, kind):
    daemon = new_daemon("--worker-program", "/bin/false").start()
    with daemon.client() as client:
        for name in CLIENT_RPCS:
            assert_all_refused(client, throw(client, name, BOMBS[kind], CALLERS))
            assert memory_peak_bytes(daemon.pid) < DAEMON_BYTES_MAX, name
        assert daemon.metric("plait_rpcs_total", method="GetJob", code="RESOURCE_EXHAUSTED") > 0
        assert client.call("GetCapabilities").version


def test_workers_calls_that_grow_when_they_are_parsed_are_refused(new_daemon):
    daemon = new_daemon("--worker-program", "/bin/false").start()
    with daemon.worker_client() as client:
        for bomb in BOMBS.values():
            assert_all_refused(client, throw(client, "Synchronize", bomb * 4, CALLERS // 4))
    assert memory_peak_bytes(daemon.pid) < DAEMON_BYTES_MAX
    assert daemon.get("/livez")[0] == 200
