#!/usr/bin/env python3
"""Executes the Dockerfile without a container engine: each stage in a clean Debian root.

Reads the Dockerfile's own steps, so that what passes here is what `docker build` would run. At the
end it starts the image's entry point in the last stage's root and asks the CLI there for its
devices, from a second network namespace, as from the other side of a published port. Needs root,
mmdebstrap, and a Debian mirror. The build stage takes as long as a build.
"""

import argparse
import json
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))

import networks  # noqa: E402 (found through the line above)
import processes  # noqa: E402

SUITE_OF_IMAGE = {"debian:bookworm-slim": "bookworm"}
# They describe the image and execute nothing while it is built.
DESCRIPTIVE = {"VOLUME", "EXPOSE", "STOPSIGNAL", "ENTRYPOINT", "CMD", "LABEL"}
EXECUTED = {"RUN", "COPY", "ENV", "WORKDIR", "USER"}
PORT = 17400


class Stage:
    """One FROM with its steps, each an instruction and its text."""

    def __init__(self, image, name):
        self.image = image
        self.name = name
        self.steps = []

    def last(self, instruction):
        return next((text for name, text in reversed(self.steps) if name == instruction), "[]")


def parse(text):
    """Returns the stages of a Dockerfile."""
    lines = (line for line in text.splitlines() if not line.lstrip().startswith("#"))
    stages = []
    for line in "\n".join(lines).replace("\\\n", " ").splitlines():
        instruction, _, rest = line.strip().partition(" ")
        if instruction == "FROM":
            image, _, name = rest.partition(" AS ")
            stages.append(Stage(image.strip(), name.strip() or str(len(stages))))
        elif instruction:
            if instruction not in EXECUTED | DESCRIPTIVE:
                raise ValueError(f"Dockerfile: {instruction} is not understood here")
            stages[-1].steps.append((instruction, rest.strip()))
    return stages


class Root:
    """The file system of a stage, and how commands run in it."""

    def __init__(self, path):
        self.path = path
        self.directory = "/"
        self.user = "root"
        self.environment = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                            "HOME": "/root"}

    def command(self, words, user=None):
        """The words as a command in the root: own mounts and processes, the host's network."""
        inside = f"mount -t proc proc {shlex.quote(str(self.path))}/proc && exec chroot"
        inside += f" --userspec={user or self.user} {shlex.quote(str(self.path))}"
        inside += f" sh -c {shlex.quote(f'cd {self.directory} && exec ' + shlex.join(words))}"
        return ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", inside]

    def run(self, words):
        subprocess.run(self.command(words), env=self.environment, check=True)

    def inside(self, path):
        """A path of the image, as a path of this machine."""
        return self.path / os.path.normpath(os.path.join(self.directory, path)).lstrip("/")


def make_root(image, path):
    print(f"== {image} in {path}", flush=True)
    subprocess.run(["mmdebstrap", "--variant=minbase", "--quiet", SUITE_OF_IMAGE[image],
                    str(path)], check=True)
    shutil.copy("/etc/resolv.conf", path / "etc" / "resolv.conf")


def context_files():
    """The build context: what git knows of, which is what .dockerignore leaves."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
    decoded = [name.decode() for name in names.split(b"\0") if name]
    return [name for name in decoded if (ROOT / name).exists()]


def copy(root, text, roots):
    words = shlex.split(text)
    is_from_stage = words[0].startswith("--from=")
    source = roots[words.pop(0).removeprefix("--from=")] if is_from_stage else None
    *names, target = words
    into = root.inside(target)
    for name in names:
        if source:
            shutil.copytree(source.inside(name), into, dirs_exist_ok=True)
            continue
        prefix = "" if name == "." else name.removeprefix("./")
        is_folder = (ROOT / prefix).is_dir()
        for file in context_files():
            if file != prefix and is_folder and prefix and not file.startswith(prefix + "/"):
                continue
            if not is_folder and file != prefix:
                continue
            relative = pathlib.PurePath(file)
            relative = relative.relative_to(prefix) if is_folder else relative.name
            place = into / relative if is_folder or target.endswith("/") else into
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / file, place)


def execute(stage, root, roots):
    for instruction, text in stage.steps:
        if instruction in DESCRIPTIVE:
            continue
        print(f"== {stage.name}: {instruction} {text}", flush=True)
        if instruction == "RUN":
            root.run(["sh", "-c", text])
        elif instruction == "COPY":
            copy(root, text, roots)
        elif instruction == "WORKDIR":
            root.directory = text
            root.inside(".").mkdir(parents=True, exist_ok=True)
        elif instruction == "USER":
            root.user = text
        elif instruction == "ENV":
            root.environment.update(word.split("=", 1) for word in shlex.split(text))


def check_refuses(stage, root):
    """Nobody has chosen between TLS and none: the image says so, and serves nothing."""
    words = json.loads(stage.last("ENTRYPOINT")) + json.loads(stage.last("CMD"))
    refused = subprocess.run(root.command(words), env=root.environment, capture_output=True,
                             text=True, timeout=60, check=False)
    assert refused.returncode == 2, refused
    assert "tls_cert" in refused.stderr and "--insecure-any-address" in refused.stderr, refused


def check_answers(stage, root):
    """Starts the entry point as `docker run -p` would, and asks it from another network."""
    words = json.loads(stage.last("ENTRYPOINT")) + [
        "--insecure-any-address", "--listen", f"0.0.0.0:{PORT}", "--metrics-listen", "127.0.0.1:0"]
    daemon = subprocess.Popen(root.command(words), env=root.environment, stdout=subprocess.PIPE)
    try:
        assert json.loads(daemon.stdout.readline())["event"] == "listening"
        root.run(["plait-worker", "--check", "--device", "cpu"])
        with networks.second_network() as network:
            server = f"{networks.HOST}:{PORT}"
            ask = root.command(["plait", "devices", "--server", server, "--insecure", "--json"])
            subprocess.run(networks.command_in(network, ask), env=root.environment, check=True)
        # It is process 1 of its namespace, as in a container, where signals need a handler.
        (entry_point,) = processes.children(daemon.pid)
        os.kill(entry_point, signal.SIGTERM)
        code = daemon.wait(60)
        assert code == 0, f"the entry point ended with {code} after SIGTERM"
    finally:
        daemon.kill()
        daemon.wait(60)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", type=pathlib.Path,
                        help="a folder with plait, plaitd and plait-worker, instead of building")
    parser.add_argument("--keep", type=pathlib.Path, help="keep the roots in this folder")
    arguments = parser.parse_args()
    folder = arguments.keep or pathlib.Path(tempfile.mkdtemp(prefix="plait-image-"))
    folder.mkdir(exist_ok=True)
    os.chmod(folder, 0o755)
    stages = parse((ROOT / "Dockerfile").read_text())
    roots = {stage.name: Root(folder / stage.name) for stage in stages}
    try:
        for stage in stages:
            root = roots[stage.name]
            if arguments.programs and stage.name == "build":
                (root.path / "out" / "bin").mkdir(parents=True)
                for name in ("plait", "plaitd", "plait-worker"):
                    shutil.copy2(arguments.programs / name, root.path / "out" / "bin")
                continue
            make_root(stage.image, root.path)
            execute(stage, root, roots)
        check_refuses(stages[-1], roots[stages[-1].name])
        check_answers(stages[-1], roots[stages[-1].name])
    finally:
        if not arguments.keep:
            shutil.rmtree(folder, ignore_errors=True)
    print("== the image answers")
    return 0


if __name__ == "__main__":
    sys.exit(main())
