"""Ways to give a process less of the machine: words that go before its command."""

import contextlib
import pathlib

GROUPS = pathlib.Path("/sys/fs/cgroup")
PERIOD_US = 100_000


class LimitFailure(Exception):
    """The system does not let this process limit another."""


def one_core():
    """The process may use the first core only."""
    return ["taskset", "--cpu-list", "0"]


@contextlib.contextmanager
def quota(cores, name):
    """The process, and what it starts, gets the time of so many cores; a control group of its own
    of that name lasts as long as the block, in which all processes in it have to end."""
    # Version 2 has one tree, version 1 one for each resource.
    is_second = (GROUPS / "cgroup.controllers").is_file()
    group = (GROUPS if is_second else GROUPS / "cpu") / f"plait-peers-{name}"
    budget_us = int(cores * PERIOD_US)
    try:
        group.mkdir(exist_ok=True)
        if is_second:
            (group / "cpu.max").write_text(f"{budget_us} {PERIOD_US}")
        else:
            (group / "cpu.cfs_period_us").write_text(str(PERIOD_US))
            (group / "cpu.cfs_quota_us").write_text(str(budget_us))
    except OSError as error:
        raise LimitFailure(f"no control group {group}: {error.strerror}") from error
    try:
        # The process joins before it becomes the command.
        yield ["sh", "-c", f"echo $$ > {group}/cgroup.procs && exec \"$@\"", "sh"]
    finally:
        group.rmdir()
