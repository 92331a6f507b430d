"""The compose file: it builds what the Dockerfile has, and its GPU's worker serves its daemon."""

import os
import pathlib
import subprocess
import sys

import pytest
import yaml

import dockerfile_in_chroot as dockerfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))

import programs  # noqa: E402 (found through the line above)
from daemon import Daemon  # noqa: E402
from waiting import wait_until  # noqa: E402

SERVICES = yaml.safe_load((ROOT / "deploy" / "compose" / "compose.yaml").read_text())["services"]
SIMULATED = programs.BUILD / "simulated_gpu"


def test_it_builds_stages_that_there_are():
    stages = {stage.name for stage in dockerfile.parse((ROOT / "Dockerfile").read_text())}
    builds = [service["build"] for service in SERVICES.values() if "build" in service]
    targets = {build["target"] for build in builds if isinstance(build, dict)}
    assert targets == {"worker-cuda"} <= stages


def test_a_gpu_is_asked_for_under_its_profile_alone():
    def devices(service):
        reserved = service.get("deploy", {}).get("resources", {}).get("reservations", {})
        return [device["capabilities"] for device in reserved.get("devices", [])]
    with_gpu = {name: service for name, service in SERVICES.items() if devices(service)}
    assert list(with_gpu) == ["worker-cuda"]
    assert with_gpu["worker-cuda"]["profiles"] == ["gpu"]
    assert devices(with_gpu["worker-cuda"]) == [["gpu"]]


@pytest.mark.skipif(not (SIMULATED / "libcuda.so.1").exists(),
                    reason="this build has no simulated driver")
def test_its_worker_serves_the_daemon_whose_volume_it_shares(tmp_path):
    service = SERVICES["worker-cuda"]
    (volume,) = (mount for mount in SERVICES["plaitd"]["volumes"] if mount in service["volumes"])
    place = volume.split(":")[1]
    daemon = Daemon(tmp_path / "data", "--workers", "cpu").start()
    words = [word.replace(place, str(daemon.data_dir)) for word in service["command"]]
    environment = {**os.environ, "LD_LIBRARY_PATH": str(SIMULATED)}
    worker = subprocess.Popen([programs.program("plait-worker"), *words], env=environment)

    def devices():
        with daemon.client() as client:
            return {available.device.id for available in client.call("ListDevices").devices}

    try:
        wait_until(lambda: "cuda:0" in devices(), "the worker of the GPU is known")
    finally:
        worker.kill()
        worker.wait(30)
        daemon.kill()
