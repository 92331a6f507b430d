"""What a process that reads a stranger's model may use: taken by itself, before it reads a byte."""

import ctypes
import os
import resource
import signal

PR_SET_PDEATHSIG = 1
PR_SET_NO_NEW_PRIVS = 38

# A runtime opens its libraries, and some files of /proc and /sys.
FILES_MAX = 256


def _prctl(option, argument):
    ctypes.CDLL(None, use_errno=True).prctl(option, argument, 0, 0, 0)


def die_with(parent):
    """Asks the kernel to kill this process when its parent dies; False if that has happened."""
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    return os.getppid() == parent


def apply(memory_bytes, cpu_seconds):
    """Address space, processor time, no files to write and few to open; no rights are gained."""
    _prctl(PR_SET_NO_NEW_PRIVS, 1)
    limits = {
        resource.RLIMIT_AS: (memory_bytes, memory_bytes),
        # SIGXCPU, by which a parent knows this limit, and a second later SIGKILL.
        resource.RLIMIT_CPU: (cpu_seconds, cpu_seconds + 1),
        resource.RLIMIT_FSIZE: (0, 0),
        resource.RLIMIT_NOFILE: (FILES_MAX, FILES_MAX),
        resource.RLIMIT_CORE: (0, 0),
    }
    for limit, values in limits.items():
        hard = resource.getrlimit(limit)[1]
        if hard != resource.RLIM_INFINITY:
            values = tuple(min(value, hard) for value in values)
        resource.setrlimit(limit, values)
