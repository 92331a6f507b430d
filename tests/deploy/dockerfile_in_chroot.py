#!/usr/bin/env python3
"""Executes the Dockerfile without a container engine: each stage in a clean Debian root.

Reads the Dockerfile's own steps, so that what passes here is what `docker build` would run. At the
end it starts the image's entry point in the last stage's root, without TLS and with it, and asks
the CLI there for its devices, from a second network namespace, as from the other side of a
published port; and it starts the entry point of the GPU's worker, without a driver and on the
simulated one of `build/`. Needs root, mmdebstrap, openssl, a Debian mirror and PyPI. The build
stages take as long as two builds.
"""

import argparse
import contextlib
import json
import os
import pathlib
import shlex
import shutil
import signal
import string
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))

import networks  # noqa: E402 (found through the line above)
import processes  # noqa: E402
from authority import Authority  # noqa: E402
from programs import BUILD  # noqa: E402

SUITE_OF_IMAGE = {"debian:bookworm-slim": "bookworm"}
# They describe the image and execute nothing while it is built.
DESCRIPTIVE = {"VOLUME", "EXPOSE", "STOPSIGNAL", "ENTRYPOINT", "CMD", "LABEL"}
EXECUTED = {"RUN", "COPY", "ENV", "WORKDIR", "USER"}
PORT = 17400
# This machine's certificate authorities, in a root.
AUTHORITIES = "/etc/ssl/host-authorities.pem"


class Stage:
    """One FROM with its steps, each an instruction and its text. It begins with an image, or with
    what another stage has made."""

    def __init__(self, image, name, base=None):
        self.image = image
        self.name = name
        self.base = base
        self.steps = []

    def last(self, instruction):
        for name, text in reversed(self.steps):
            if name == instruction:
                return text
        return self.base.last(instruction) if self.base else "[]"


def parse(text):
    """Returns the stages of a Dockerfile, with the defaults of its build arguments."""
    lines = (line for line in text.splitlines() if not line.lstrip().startswith("#"))
    stages, arguments = [], {}
    for line in "\n".join(lines).replace("\\\n", " ").splitlines():
        instruction, _, rest = line.strip().partition(" ")
        if instruction == "FROM":
            image, _, name = string.Template(rest).substitute(arguments).partition(" AS ")
            base = next((stage for stage in stages if stage.name == image.strip()), None)
            stages.append(Stage(image.strip(), name.strip() or str(len(stages)), base))
        elif instruction == "ARG" and not stages:
            name, _, value = rest.strip().partition("=")
            arguments[name] = value
        elif instruction:
            if not stages or instruction not in EXECUTED | DESCRIPTIVE:
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
        # Python's packages come from where this machine gets them, as apt's do: see make_root.
        self.environment["PIP_CERT"] = AUTHORITIES
        for name in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_DEFAULT_TIMEOUT"):
            if name in os.environ:
                self.environment[name] = os.environ[name]

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


def make_root(stage, root, roots):
    """What the stage begins with."""
    print(f"== {stage.image} in {root.path}", flush=True)
    if stage.base:
        base = roots[stage.base.name]
        root.path.mkdir()
        subprocess.run(["cp", "-a", "--reflink=auto", f"{base.path}/.", str(root.path)],
                       check=True)
        root.directory, root.user = base.directory, base.user
        root.environment = dict(base.environment)
        return
    subprocess.run(["mmdebstrap", "--variant=minbase", "--quiet", SUITE_OF_IMAGE[stage.image],
                    str(root.path)], check=True)
    shutil.copy("/etc/resolv.conf", root.path / "etc" / "resolv.conf")
    root.inside(AUTHORITIES).parent.mkdir(parents=True, exist_ok=True)
    shutil.copy("/etc/ssl/certs/ca-certificates.crt", root.inside(AUTHORITIES))


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


@contextlib.contextmanager
def serving(stage, root, *options):
    """The entry point as `docker run -p IMAGE OPTION...` would start it; it ends at SIGTERM. Yields
    what asks it for its devices, from another network: options of `plait` to its exit code."""
    words = json.loads(stage.last("ENTRYPOINT")) + [
        *options, "--listen", f"0.0.0.0:{PORT}", "--metrics-listen", "127.0.0.1:0"]
    daemon = subprocess.Popen(root.command(words), env=root.environment, stdout=subprocess.PIPE)
    try:
        assert json.loads(daemon.stdout.readline())["event"] == "listening"
        with networks.second_network() as network:
            def ask(*client):
                words = ["plait", "devices", "--server", f"{networks.HOST}:{PORT}", "--json"]
                inside = networks.command_in(network, root.command([*words, *client]))
                return subprocess.run(inside, env=root.environment, check=False).returncode

            yield ask
        # It is process 1 of its namespace, as in a container, where signals need a handler.
        (entry_point,) = processes.children(daemon.pid)
        os.kill(entry_point, signal.SIGTERM)
        code = daemon.wait(60)
        assert code == 0, f"the entry point ended with {code} after SIGTERM"
    finally:
        daemon.kill()
        daemon.wait(60)


def check_answers(stage, root):
    with serving(stage, root, "--insecure-any-address") as ask:
        root.run(["plait-worker", "--check", "--device", "cpu"])
        assert ask("--insecure") == 0


def check_answers_with_tls(stage, root):
    """With a certificate and key in a folder that is mounted, as docs/operations.md shows it."""
    folder = root.inside("/tls")
    folder.mkdir()
    ours = Authority(folder, "ours")
    ours.sign("server", hosts=f"IP:{networks.HOST}")
    options = ["--tls-cert", "/tls/server.pem", "--tls-key", "/tls/server.key"]
    words = json.loads(stage.last("ENTRYPOINT")) + options
    refused = subprocess.run(root.command(words), env=root.environment, capture_output=True,
                             text=True, timeout=60, check=False)
    assert refused.returncode == 2 and "/tls/server.key" in refused.stderr, refused
    subprocess.run(["chroot", root.path, "chown", root.user, "/tls/server.key"], check=True)
    with serving(stage, root, *options) as ask:
        assert ask("--tls-ca", "/tls/ours.pem") == 0
        # Neither somebody who does not trust it, nor without TLS.
        assert ask() == 9 and ask("--insecure") == 9


def check_gpu_worker(stage, root):
    """Its libraries are whole; without a driver it says so, and with one its kernels compute what
    they should: those that NVRTC of this image compiles, on a simulated GPU and its libraries."""
    linked = subprocess.run(root.command(["sh", "-c", "ldd /usr/local/cuda/lib64/*.so*"]),
                            env=root.environment, capture_output=True, text=True, check=True)
    assert "libcudnn.so.9" in linked.stdout and "not found" not in linked.stdout, linked.stdout
    words = json.loads(stage.last("ENTRYPOINT")) + json.loads(stage.last("CMD"))
    refused = subprocess.run(root.command(words), env=root.environment, capture_output=True,
                             text=True, timeout=60, check=False)
    assert refused.returncode == 9 and "libcuda.so.1" in refused.stderr, refused
    # Its libraries are links to one, which knows what each of them has done.
    shutil.copytree(BUILD / "simulated_gpu", root.inside("/simulated"), symlinks=True)
    simulated = {**root.environment, "LD_LIBRARY_PATH": "/simulated"}
    checked = subprocess.run(root.command(words), env=simulated, capture_output=True, text=True,
                             timeout=300, check=False)
    assert checked.returncode == 0, checked
    print(checked.stdout, flush=True)


def check_runtimes(stage, root):
    """Jobs measure in the runtimes of the image: its daemon lists them, and nothing is missing."""
    words = ["plait", "devices", "--cache-dir", "/tmp/cache", "--json"]
    asked = subprocess.run(root.command(words, stage.last("USER")), env=root.environment,
                           capture_output=True, text=True, timeout=120, check=False)
    assert asked.returncode == 0, asked
    listed = json.loads(asked.stdout)
    assert listed["missing_runtimes"] == [], listed
    versions = {device["id"]: device["runtime_version"] for device in listed["devices"]}
    assert versions["onnxruntime"] and versions["openvino"], listed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", type=pathlib.Path,
                        help="a build folder whose programs are installed, instead of building")
    parser.add_argument("--keep", type=pathlib.Path, help="keep the roots in this folder")
    arguments = parser.parse_args()
    folder = arguments.keep or pathlib.Path(tempfile.mkdtemp(prefix="plait-image-"))
    folder.mkdir(exist_ok=True)
    os.chmod(folder, 0o755)
    stages = {stage.name: stage for stage in parse((ROOT / "Dockerfile").read_text())}
    roots = {name: Root(folder / name) for name in stages}
    try:
        for name, stage in stages.items():
            root = roots[name]
            if arguments.programs and name.startswith("build"):
                subprocess.run(["cmake", "--install", arguments.programs, "--component", "tools",
                                "--prefix", root.path / "out", "--strip"], check=True)
                continue
            make_root(stage, root, roots)
            execute(stage, root, roots)
        image = list(stages)[-1]
        check_refuses(stages[image], roots[image])
        check_answers(stages[image], roots[image])
        check_answers_with_tls(stages[image], roots[image])
        check_runtimes(stages["with-runtimes"], roots["with-runtimes"])
        check_gpu_worker(stages["worker-cuda"], roots["worker-cuda"])
    finally:
        if not arguments.keep:
            shutil.rmtree(folder, ignore_errors=True)
    print("== the images answer")
    return 0


if __name__ == "__main__":
    sys.exit(main())
