"""What operators see: metrics, probes, logs, settings."""

import re
import shutil
import subprocess

import pytest

import models
import programs
from rpc import state_of
from waiting import wait_until

FAMILIES_MIN = 15


def run_daemon(*arguments, **variables):
    return subprocess.run([programs.program("plaitd"), *map(str, arguments)], text=True,
                          capture_output=True, timeout=60, check=False,
                          env=programs.environment(**variables))


@pytest.fixture(scope="module")
def metrics_text(shared_daemon):
    with shared_daemon.client() as client:
        job = client.submit(client.upload(models.small_model()), search="none")
        assert state_of(client.wait_for_end(job.id)) == "SUCCEEDED"
    code, text = shared_daemon.get("/metrics")
    assert code == 200
    return text


def test_there_are_enough_families(metrics_text):
    families = set(re.findall(r"^# TYPE (\S+)", metrics_text, re.MULTILINE))
    assert len({name for name in families if name.startswith("plait_")}) >= FAMILIES_MIN


def test_counters_and_units_are_named_as_prometheus_wants(metrics_text):
    for name, kind in re.findall(r"^# TYPE (\S+) (\S+)", metrics_text, re.MULTILINE):
        assert (kind == "counter") == name.endswith("_total"), name
        assert not re.search(r"_(ms|us|milliseconds|kb|mb)(_|$)", name), name


@pytest.mark.skipif(not shutil.which("promtool"), reason="needs the package prometheus")
def test_promtool_finds_no_fault(metrics_text):
    checked = subprocess.run(["promtool", "check", "metrics"], input=metrics_text, text=True,
                             capture_output=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_the_engine_version_tells_builds_apart(metrics_text):
    build, = re.findall(r"^plait_build_info\{(.*)\} 1", metrics_text, re.MULTILINE)
    labels = dict(re.findall(r'(\w+)="([^"]*)"', build))
    assert re.fullmatch(rf"plait-{labels['version']}\+[0-9a-f]{{12}}", labels["engine_version"])


def test_labels_name_no_job_and_no_model(shared_daemon, metrics_text):
    with shared_daemon.client() as client:
        for job in client.jobs():
            assert job.id not in metrics_text
            assert job.model.sha256_hex not in metrics_text


def test_a_job_moves_the_metrics(shared_daemon, metrics_text):
    for name in ("plait_jobs_submitted_total", "plait_blob_received_bytes_total",
                 "plait_blob_files", "plait_blob_stored_bytes", "plait_process_uptime_seconds",
                 "plait_storage_commit_seconds_count", "plait_job_duration_seconds_count",
                 "plait_profiles_stored", "plait_rpcs_total"):
        # Gauges are refreshed once a second.
        wait_until(lambda name=name: shared_daemon.metric(name) > 0, f"{name} moves", 10)
    assert shared_daemon.metric("plait_jobs_ended_total", state="SUCCEEDED") >= 1
    assert shared_daemon.metric("plait_workers") == 1


def test_probes_answer(shared_daemon):
    assert shared_daemon.get("/livez")[0] == 200
    assert shared_daemon.get("/readyz")[0] == 200


def test_logs_are_json_lines(shared_daemon, metrics_text):
    events = shared_daemon.log_events()
    assert {"server.listening", "job.submitted", "job.started", "job.ended"} <= {
        event["event"] for event in events}
    assert all(event["time"] and event["level"] for event in events)


@pytest.mark.parametrize("arguments, variables, words", [
    (["--listen", "0.0.0.0:0", "--insecure"], {}, "0.0.0.0"),
    (["--listen", "127.0.0.1:0"], {}, "tls_cert"),
    (["--insecure"], {"PLAIT_WORKER_THREADS": "two"}, "worker_threads"),
    (["--insecure", "--jobs-running-max", "0"], {}, "jobs_running_max"),
    (["--insecure", "--log-level", "loud"], {}, "log-level"),
])
def test_bad_settings_are_refused_by_name(folder, arguments, variables, words):
    finished = run_daemon("--data-dir", folder / "data", *arguments, **variables)
    assert finished.returncode == 2, finished
    assert words in finished.stderr.strip().splitlines()[-1]


def test_an_unknown_key_of_the_file_is_refused(folder):
    (folder / "plaitd.toml").write_text('data_dri = "/tmp"\n')
    finished = run_daemon("--config", folder / "plaitd.toml", "--insecure")
    assert finished.returncode == 2
    assert '"data_dri"' in finished.stderr and '"data_dir"' in finished.stderr


def test_flag_beats_environment_beats_file(folder):
    (folder / "plaitd.toml").write_text('log_level = "loud"\njobs_running_max = 0\n')
    common = ["--config", folder / "plaitd.toml", "--data-dir", folder / "data", "--insecure"]
    assert "jobs_running_max" in run_daemon(*common).stderr
    finished = run_daemon(*common, "--log-level", "shrill", PLAIT_JOBS_RUNNING_MAX="1",
                          PLAIT_LOG_LEVEL="quiet")
    assert '"shrill"' in finished.stderr
