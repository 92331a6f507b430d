"""A second network namespace, as another machine or a container's host would be one."""

import contextlib
import os
import shutil
import subprocess

HOST, PEER = "10.231.7.1", "10.231.7.2"

can_make = os.geteuid() == 0 and shutil.which("ip") is not None


@contextlib.contextmanager
def second_network():
    """Yields the namespace's name; it reaches this one at HOST."""
    name, near, far = (f"{word}-{os.getpid()}" for word in ("plait", "plh", "plp"))
    subprocess.run(["ip", "netns", "add", name], check=True)
    try:
        for words in (["link", "add", near, "type", "veth", "peer", "name", far, "netns", name],
                      ["addr", "add", f"{HOST}/30", "dev", near], ["link", "set", near, "up"],
                      ["-n", name, "addr", "add", f"{PEER}/30", "dev", far],
                      ["-n", name, "link", "set", far, "up"]):
            subprocess.run(["ip", *words], check=True)
        yield name
    finally:
        # The pair of devices goes with it.
        subprocess.run(["ip", "netns", "del", name], check=True)


def command_in(name, words):
    """The words as a command that runs in the namespace."""
    return ["ip", "netns", "exec", name, *map(str, words)]
