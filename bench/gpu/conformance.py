#!/usr/bin/env python3
"""Runs the conformance cases of the generated kernels on the GPU that is here.

    bench/gpu/conformance.py --program build/gpu-pack/gpu_conformance_test

Every kernel of every case in fp32, fp16 and bf16 is compiled for the device, run twice and compared
with the reference; graphs have to have the nodes, edges and outputs of the simulated device. The
summary becomes `conformance` of --device-file. The program may come from another machine, with its
libraries in lib/ beside it (bench/gpu/pack.py).
Exit codes: 0 all right, 1 a kernel failed, 2 usage, 3 nothing was run.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILT = ROOT / "build" / "tests" / "gpu_conformance_test"
STICKY_ERROR = "IsReportedUntilTheProcessEnds"
GRAPHS = "GpuGraphsTest"


def summary_of(results):
    """What a file of googletest's says: tests, kernels and the first lines of failures.

    `sticky_error`: whether the device behaved as a worker relies on; None where nobody asked.
    """
    tests = [test for suite in results["testsuites"] for test in suite["testsuite"]]
    failures = [(test, failure["failure"].splitlines()) for test in tests
                for failure in test.get("failures", [])]
    graphs = [test for test in tests if GRAPHS in test.get("classname", "")]
    wrong = [test for test, _ in failures]
    return {
        "tests": sum(test["result"] == "COMPLETED" for test in tests),
        "skipped": sum(test["result"] == "SKIPPED" for test in tests),
        "kernels": sum(int(test.get("kernels", 0)) for test in tests),
        "sticky_error": next((test["result"] == "COMPLETED" and "failures" not in test
                              for test in tests if test["name"] == STICKY_ERROR), None),
        "failures": [f"{test['name']}: {' '.join(lines)[:300]}" for test, lines in failures],
        "kernel_failures": sum(test["name"] != STICKY_ERROR and test not in graphs
                               for test in wrong),
        "graphs": sum(test["result"] == "COMPLETED" for test in graphs),
        "graph_edges": sum(int(test.get("edges", 0)) for test in graphs),
        "graph_failures": sum(test in graphs for test in wrong),
    }


def conformance(program):
    """The summary of a run; None where the program does not get as far as having one."""
    paths = [str(program.parent / "lib"), os.environ.get("LD_LIBRARY_PATH", "")]
    with tempfile.TemporaryDirectory() as folder:
        results = pathlib.Path(folder) / "results.json"
        subprocess.run([program, f"--gtest_output=json:{results}"], stdout=subprocess.DEVNULL,
                       env={**os.environ, "LD_LIBRARY_PATH": ":".join(filter(None, paths))},
                       check=False)
        return summary_of(json.loads(results.read_text())) if results.is_file() else None


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, default=BUILT, metavar="FILE",
                        help="the test's program (build/tests/gpu_conformance_test)")
    parser.add_argument("--device-file", type=pathlib.Path, metavar="FILE",
                        help="device.json of a results folder, which gets the summary")
    arguments = parser.parse_args()
    if not arguments.program.is_file():
        parser.error(f"no {arguments.program}: build gpu_conformance_test, or name it (--program)")
    return arguments


def main():
    arguments = parse()
    summary = conformance(arguments.program.resolve())
    if summary is None:
        print("conformance.py: the program has failed before its end", file=sys.stderr)
        return 3
    print(f"{summary['tests']} tests, {summary['skipped']} skipped, {summary['kernels']} kernels, "
          f"{len(summary['failures'])} failures", *summary["failures"], sep="\n")
    if summary["tests"] == 0:
        return 3
    if arguments.device_file:
        facts = json.loads(arguments.device_file.read_text())
        facts["conformance"] = summary
        arguments.device_file.write_text(json.dumps(facts, indent=1) + "\n")
    return 1 if summary["failures"] else 0


if __name__ == "__main__":
    sys.exit(main())
