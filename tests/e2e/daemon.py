"""A plaitd of a test's own: free ports, its own data directory, killed at the end."""

import json
import os
import pathlib
import select
import signal
import subprocess
import urllib.error
import urllib.request

import learned
import processes
import programs
import rpc
from waiting import wait_until

START_SECONDS_MAX = 60


class Daemon:
    """Starts, stops and kills one plaitd again and again on one data directory."""

    def __init__(self, data_dir, *arguments, listen="127.0.0.1:0", prefix=(),
                 is_secure=False):
        self.data_dir = pathlib.Path(data_dir)
        self.arguments = arguments
        self.listen = listen
        self.prefix = list(prefix)
        self.is_secure = is_secure
        self.log = self.data_dir.with_suffix(".log")
        self.process = None
        self.pid = 0
        self.address = ""
        self.worker_address = ""
        self.metrics_address = ""
        self.health_address = ""

    def command(self):
        security = [] if self.is_secure else ["--insecure"]
        return [*self.prefix, programs.program("plaitd"), "--data-dir", str(self.data_dir),
                "--listen", self.listen, "--metrics-listen", "127.0.0.1:0", *security,
                *self.arguments]

    def start(self):
        learned.give(self.data_dir)
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(self.command(), stdout=subprocess.PIPE, stderr=log,
                                            env=programs.environment())
        ready, _, _ = select.select([self.process.stdout], [], [], START_SECONDS_MAX)
        line = self.process.stdout.readline() if ready else b""
        assert line, f"plaitd has not started:\n{self.log_text()[-3000:]}"
        listening = json.loads(line)
        assert listening["event"] == "listening"
        self.pid = listening["pid"]
        self.address = listening["address"]
        self.worker_address = listening["worker_address"]
        self.metrics_address = listening["metrics_address"]
        self.health_address = listening["health_address"]
        return self

    def log_text(self):
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def log_events(self):
        lines = (line for line in self.log_text().splitlines() if line.startswith("{"))
        return [json.loads(line) for line in lines]

    def client(self, tenant="default"):
        return rpc.Client(self.address, tenant)

    def worker_client(self):
        """A client at the socket of this machine's workers."""
        return rpc.Client(f"unix:{self.data_dir}/worker.sock")

    def is_alive(self):
        return self.process is not None and self.process.poll() is None

    def stop(self, seconds_max=60):
        """Asks it to stop and returns its exit code."""
        os.kill(self.pid, signal.SIGTERM)
        code = self.process.wait(seconds_max)
        self.process.stdout.close()
        return code

    def kill(self):
        """kill -9; returns when it and everything that it has started are gone."""
        if not self.is_alive():
            return
        family = processes.descendants(self.pid)
        os.kill(self.pid, signal.SIGKILL)
        self.process.wait(30)
        self.process.stdout.close()
        wait_until(lambda: not any(map(processes.is_alive, family)),
                   "the daemon's children die with it", 30)

    def get(self, path, address=""):
        """GETs a page, of the metrics port if nothing else is said; returns (code, text)."""
        url = f"http://{address or self.metrics_address}{path}"
        try:
            with urllib.request.urlopen(url, timeout=10) as page:
                return page.status, page.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def metric(self, name, **labels):
        """The sum of the samples of that name whose labels contain `labels`."""
        total = 0.0
        for line in self.get("/metrics")[1].splitlines():
            series, _, value = line.rpartition(" ")
            base, _, rest = series.partition("{")
            wanted = (f'{label}="{text}"' for label, text in labels.items())
            if base == name and all(pair in rest for pair in wanted):
                total += float(value)
        return total

    def wait_for_worker(self):
        """Returns when a worker has connected; returns its process id."""
        wait_until(lambda: self.get("/readyz")[0] == 200, "a worker connects")
        return wait_until(lambda: processes.workers(self.pid), "the worker runs")[0]
