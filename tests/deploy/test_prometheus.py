"""A real Prometheus scrapes a real plaitd: the rules load, each query of the dashboard has data."""

import json
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import urllib.error
import urllib.parse
import urllib.request

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
METRICS = ROOT / "server" / "telemetry" / "metrics.cc"
sys.path.insert(0, str(ROOT / "tests" / "e2e"))

import models  # noqa: E402 (found through the line above)
from daemon import Daemon  # noqa: E402
from rpc import state_of  # noqa: E402
from waiting import wait_until  # noqa: E402

DEPLOY = ROOT / "deploy"
DASHBOARD = DEPLOY / "grafana" / "dashboards" / "plait.json"

needs_prometheus = pytest.mark.skipif(not shutil.which("prometheus"), reason="needs prometheus")


def queries():
    panels = json.loads(DASHBOARD.read_text())["panels"]
    return sorted({target["expr"] for panel in panels for target in panel.get("targets", [])})


def free_address():
    """Prometheus cannot be asked for its port, so that one is chosen for it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"


class Prometheus:
    """A Prometheus on the deployed configuration, scraping faster and another target."""

    def __init__(self, folder, target):
        self.folder = folder
        self.address = free_address()
        text = (DEPLOY / "prometheus" / "prometheus.yml").read_text()
        text = text.replace("15s", "1s").replace("127.0.0.1:7401", target)
        (folder / "prometheus.yml").write_text(text)
        shutil.copy(DEPLOY / "prometheus" / "rules.yml", folder)
        with (folder / "prometheus.log").open("wb") as log:
            self.process = subprocess.Popen(
                ["prometheus", f"--config.file={folder}/prometheus.yml",
                 f"--storage.tsdb.path={folder}/tsdb", f"--web.listen-address={self.address}"],
                stdout=log, stderr=log)

    def query(self, expression):
        url = f"http://{self.address}/api/v1/query?" + urllib.parse.urlencode(
            {"query": expression})
        try:
            with urllib.request.urlopen(url, timeout=10) as page:
                return json.load(page)["data"]["result"]
        except urllib.error.HTTPError as error:
            if error.code == 503:  # it is starting
                return []
            raise AssertionError(f"{expression}: {error.read().decode()}") from error
        except OSError:
            assert self.process.poll() is None, (self.folder / "prometheus.log").read_text()
            return []

    def rules(self):
        with urllib.request.urlopen(f"http://{self.address}/api/v1/rules", timeout=10) as page:
            groups = json.load(page)["data"]["groups"]
        return {rule["name"]: rule for group in groups for rule in group["rules"]}

    def stop(self):
        self.process.kill()
        self.process.wait(30)


@pytest.fixture(scope="module")
def prometheus():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="plait-"))
    daemon = Daemon(folder / "data").start()
    scraper = Prometheus(folder, daemon.metrics_address)
    try:
        daemon.wait_for_worker()
        wait_until(lambda: scraper.query('up{job="plaitd"} == 1'), "Prometheus scrapes plaitd")
        with daemon.client() as client:
            digest = client.upload(models.small_model())
            for _ in range(2):
                job = client.submit(digest, search="none")
                assert state_of(client.wait_for_end(job.id)) == "SUCCEEDED"
        yield scraper
    finally:
        scraper.stop()
        daemon.kill()
        shutil.rmtree(folder, ignore_errors=True)


@needs_prometheus
@pytest.mark.parametrize("expression", queries())
def test_a_query_of_the_dashboard_has_data(prometheus, expression):
    concrete = expression.replace("$__rate_interval", "1m")

    def numbers():
        values = [sample["value"][1] for sample in prometheus.query(concrete)]
        return [value for value in values if value != "NaN"]

    assert wait_until(numbers, f"{concrete} returns data", 30)


@needs_prometheus
def test_the_rules_are_loaded_and_healthy(prometheus):
    wanted = set(re.findall(r"(?:alert|record): (\S+)",
                            (DEPLOY / "prometheus" / "rules.yml").read_text()))
    wait_until(lambda: all(rule["health"] == "ok" for rule in prometheus.rules().values()),
               "all rules have been evaluated", 30)
    assert set(prometheus.rules()) == wanted
    firing = [name for name, rule in prometheus.rules().items() if rule.get("state") == "firing"]
    assert firing == []


@needs_prometheus
@pytest.mark.parametrize("command", [
    ["check", "config", str(DEPLOY / "prometheus" / "prometheus.yml")],
    ["check", "rules", str(DEPLOY / "prometheus" / "rules.yml")],
    ["test", "rules", str(ROOT / "tests" / "deploy" / "rules_test.yml")],
])
def test_promtool_accepts(command):
    checked = subprocess.run(["promtool", *command], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_the_dashboard_names_only_metrics_that_the_daemon_has():
    known = set(re.findall(r'"(plait_\w+)"', METRICS.read_text()))
    for expression in queries():
        for name in re.findall(r"\bplait_\w+", expression):
            base = re.sub(r"_(bucket|count|sum)$", "", name)
            assert base in known or name in known, f"{expression}: {name}"


def test_the_dashboard_shows_every_metric():
    known = set(re.findall(r'"(plait_\w+)"', METRICS.read_text()))
    shown = " ".join(queries())
    assert {name for name in known if name not in shown} == set()


def test_the_guide_describes_every_metric():
    known = set(re.findall(r'"(plait_\w+)"', METRICS.read_text()))
    described = set(re.findall(r"`(plait_\w+)`", (ROOT / "docs" / "metrics.md").read_text()))
    assert described == known


def test_the_example_configuration_has_only_known_settings():
    config = (ROOT / "server" / "config.cc").read_text()
    known = set(re.findall(r'^    \{"(\w+)", &Config::', config, re.MULTILINE))
    text = (DEPLOY / "config" / "plaitd.toml").read_text()
    used = set(re.findall(r"^(?:# )?(\w+) = ", text, re.MULTILINE))
    assert used and used <= known
    settings = (ROOT / "docs" / "operations.md").read_text().partition("## Processes")[0]
    described = set(re.findall(r"^\| `(\w+)` \|", settings, re.MULTILINE))
    assert described == known
