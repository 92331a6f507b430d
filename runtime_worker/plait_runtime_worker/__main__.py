"""The program: a worker of one runtime, or --probe."""

import argparse
import json
import os
import sys
import types

from plait_runtime_worker import device, limits, runtimes

# Of the machine's memory, where nobody says how much.
MEMORY_SHARE = 0.75


def parse():
    parser = argparse.ArgumentParser(prog="plait_runtime_worker",
                                     description="Measures whole ONNX models in a runtime.")
    parser.add_argument("--probe", action="store_true",
                        help="print JSON for each runtime: its device, or what is missing")
    parser.add_argument("--device", choices=runtimes.NAMES, help="the runtime")
    parser.add_argument("--server", help="where the server listens for workers: unix:PATH")
    parser.add_argument("--id", help="of this worker, never used before")
    parser.add_argument("--parent", type=int, default=0, help="process to die with; 0: none")
    parser.add_argument("--threads", type=int, default=0, help="cores to use; 0: all")
    parser.add_argument("--memory-bytes", type=int, default=0, help="memory of a model; 0: most")
    arguments = parser.parse_args()
    if not arguments.probe and not (arguments.device and arguments.server and arguments.id):
        parser.error("--device, --server and --id are needed")
    return arguments


def memory_of(arguments):
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return arguments.memory_bytes or int(MEMORY_SHARE * total)


def probe(threads, memory_bytes):
    print(json.dumps({"interpreter": sys.executable}), flush=True)
    for name in runtimes.NAMES:
        try:
            line = {"device": device.describe(name, threads, memory_bytes)}
        except runtimes.Missing as error:
            line = {"name": name, "missing": str(error)}
        print(json.dumps(line), flush=True)


def main():
    arguments = parse()
    threads = arguments.threads or len(os.sched_getaffinity(0))
    memory_bytes = memory_of(arguments)
    if arguments.probe:
        probe(threads, memory_bytes)
        return 0
    if arguments.parent and not limits.die_with(arguments.parent):
        return 1
    # Only now: a probe needs neither, and both take time to import.
    from plait_runtime_worker import protocol, synchronize

    worker = types.SimpleNamespace(
        runtime=arguments.device, id=arguments.id, threads=threads, memory_bytes=memory_bytes,
        device=device.describe(arguments.device, threads, memory_bytes),
        paths=[path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path])
    synchronize.loop(protocol.Server(arguments.server, arguments.id), worker)
    return 1


if __name__ == "__main__":
    sys.exit(main())
