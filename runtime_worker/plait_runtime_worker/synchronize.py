"""The loop of a worker: its state goes up, what the server wants comes down."""

import threading
import time

import grpc

from plait_runtime_worker import measure, protocol, run_task

# The server may hold an answer back for a second or so.
CALL_SECONDS_MAX = 10
# Pauses after a call that failed.
PAUSE_SECONDS_MIN, PAUSE_SECONDS_MAX = 0.1, 5
# A task that does not stop when nobody wants it any more: its processes are killed at each step.
STOP_SECONDS_MAX = 5


class Running:
    """A task that runs on a thread of its own."""

    def __init__(self, task, server, worker):
        self.task_id = task.task_id
        self.attempt = task.attempt
        self.result = None
        self.failure = None
        self._stop = threading.Event()
        self._changed = threading.Event()
        self.thread = threading.Thread(target=self._run, args=(task, server, worker), daemon=True)
        self.thread.start()

    def _run(self, task, server, worker):
        try:
            self.result = run_task.run(task, server, worker, self._stop.is_set)
        except measure.Aborted:
            pass
        except BaseException as error:  # pylint: disable=broad-except
            self.failure = error
        finally:
            self._changed.set()

    def is_like(self, task):
        return (task.task_id, task.attempt) == (self.task_id, self.attempt)

    def await_end(self, seconds):
        """Waits so long, or until the task has ended."""
        self._changed.wait(seconds)

    def stop(self):
        """False when the task cannot be left."""
        self._stop.set()
        self.thread.join(STOP_SECONDS_MAX)
        return not self.thread.is_alive()


def loop(server, worker):
    """Calls the server for ever. Returns when a task cannot be left; raises what broke a task."""
    running = None
    pause = PAUSE_SECONDS_MIN
    while True:
        try:
            response = server.synchronize(_request(worker, running), CALL_SECONDS_MAX)
            pause = PAUSE_SECONDS_MIN
        except grpc.RpcError:
            time.sleep(pause)
            pause = min(2 * pause, PAUSE_SECONDS_MAX)
            continue
        wanted = response.task if response.HasField("task") else None
        if running and not (wanted and running.is_like(wanted)):
            if not running.stop():
                return
            running = None
        if wanted and not running:
            running = Running(wanted, server, worker)
        seconds = response.next_synchronize_in_ms / 1000
        if running and running.result is None:
            running.await_end(seconds)
            if running.failure:
                raise running.failure
        elif not running:
            time.sleep(min(seconds, 0.001 if seconds <= 0.001 else seconds))


def _request(worker, running):
    request = protocol.SynchronizeRequest(worker_id=worker.id, device=worker.device,
                                          protocol_version=protocol.VERSION)
    if running is None:
        request.idle.SetInParent()
    elif running.result is None:
        request.executing.task_id = running.task_id
        request.executing.attempt = running.attempt
    else:
        request.completed.task_id = running.task_id
        request.completed.attempt = running.attempt
        request.completed.result.CopyFrom(running.result)
    return request
