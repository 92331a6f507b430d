"""The units for systemd: systemd accepts them, and the programs the options that they name."""

import configparser
import json
import pathlib
import shlex
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))

from programs import BUILD  # noqa: E402 (found through the line above)

UNITS = sorted((ROOT / "deploy" / "systemd").glob("*.service"))


def settings(unit):
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    parser.optionxform = str
    parser.read(unit)
    return parser["Service"]


def program_of(unit):
    return pathlib.Path(settings(unit)["ExecStart"].split()[0]).name


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="there is no systemd-analyze")
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_systemd_accepts_it(unit, tmp_path):
    # It wants programs to be there, and an instance of what is a template.
    installed = f"/usr/local/bin/{program_of(unit)}"
    text = unit.read_text().replace(installed, str(BUILD / program_of(unit)))
    copy = tmp_path / unit.name.replace("@", "@cpu")
    copy.write_text(text)
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", str(copy)],
                          capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_worker_takes_the_options_of_its_unit(tmp_path):
    (unit,) = (unit for unit in UNITS if program_of(unit) == "plait-worker")
    cache = tmp_path / "cache"
    cache.mkdir(mode=0o700)
    words = settings(unit)["ExecStart"].replace("%i", "cpu").replace("/usr/local/bin", str(BUILD))
    words = words.replace("${CACHE_DIRECTORY}", str(cache))
    words = words.replace("$PLAIT_WORKER_OPTIONS", "--check")
    done = subprocess.run(shlex.split(words), capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)
