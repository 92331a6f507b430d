"""The processes of a machine, as /proc tells them."""

import os
import pathlib
import re
import signal


def _stat(pid):
    """Returns (state, parent) of a process, or None when it is gone."""
    try:
        text = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()
    return fields[0], int(fields[1])


def command_line(pid):
    """Returns the words of a process's command line; empty when it is gone."""
    try:
        words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return []
    return [word.decode(errors="replace") for word in words[:-1]]


def processor_seconds(pid):
    """Returns how long the threads that a process has now have run, in seconds."""
    # In nanoseconds: /proc/PID/stat counts in hundredths of a second, which is too coarse.
    return sum(int((thread / "schedstat").read_text().split()[0])
               for thread in pathlib.Path(f"/proc/{pid}/task").iterdir()) / 1e9


def is_alive(pid):
    """A zombie is dead: it only waits for its parent to hear of it."""
    stat = _stat(pid)
    return stat is not None and stat[0] not in "ZX"


def children(pid):
    """Returns the living children of a process."""
    pids = (int(name) for name in os.listdir("/proc") if name.isdigit())
    return [child for child in pids if (stat := _stat(child)) and stat[1] == pid
            and stat[0] not in "ZX"]


def descendants(pid):
    """Returns the living children of a process, and theirs."""
    found = []
    for child in children(pid):
        found += [child, *descendants(child)]
    return found


def memory_peak_bytes(pid):
    """Returns the most resident memory that a process has had; 0 when it is gone."""
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    peak = re.search(r"^VmHWM:\s+(\d+) kB", status, re.MULTILINE)
    return int(peak.group(1)) * 1024 if peak else 0


def workers(pid):
    """Returns the plait-worker children of a daemon."""
    return [child for child in children(pid)
            if os.path.basename((command_line(child) or [""])[0]) == "plait-worker"]


def search_children(pid):
    """Returns the search children of a daemon."""
    return [child for child in children(pid) if "--search-child" in command_line(child)]


def kill(pid):
    """kill -9; a process that is gone already is fine."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
