"""What is in the repository, for tests that read it."""

import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


def tracked(*patterns):
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [ROOT / name for name in names.splitlines() if (ROOT / name).exists()]


def relative(path):
    return path.relative_to(ROOT).as_posix()


def report(faults):
    assert not faults, "\n" + "\n".join(faults)


def entries(def_file, macro):
    text = "\n".join(
        line for line in (ROOT / def_file).read_text().splitlines() if not line.startswith("//")
    )
    return re.findall(macro + r"\((\w+)", text, re.MULTILINE)
