"""Small files that would take gigabytes: each costs its own job, and nothing else notices."""

import os

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import models
import processes
from processes import memory_peak_bytes
from rpc import FINAL_STATES, job_reason, state_of, with_length
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


def test_a_task_that_takes_too_much_memory_costs_its_own_job(new_daemon):
    daemon = new_daemon("--worker-memory-bytes", str(1024 * MIB)).start()
    daemon.wait_for_worker()
    job, _ = run_bomb(daemon, activations_bomb())
    assert_refused(daemon, job, "(worker_memory_bytes)")
    assert daemon.metric("plait_worker_restarts_total") == 1
