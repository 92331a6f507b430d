"""Jobs whose results `plait gate` times in turns: what budgets.py and searched_rules.py share."""

import json
import subprocess
import time

EXIT_CODES = (0, 4, 5)  # of a gate: pass, fail, inconclusive


def call(command, exit_codes=(0,)):
    """The JSON that a program prints, and the seconds that it took."""
    start = time.monotonic()
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          check=False)
    if done.returncode not in exit_codes:
        raise RuntimeError(f"{' '.join(map(str, command))}:\n{done.stderr}")
    return json.loads(done.stdout), time.monotonic() - start


def optimize(plait, model, output, cache, *options):
    """The report of a job, and its seconds."""
    return call([plait, "optimize", model, "-o", output, "--runtime", "plait", "--json",
                 "--cache-dir", cache, *options])


def gate(plait, base, new, max_regression, budget):
    """What `plait gate` says of two files, which are named without their folders."""
    said, _ = call([plait, "gate", base, new, "--max-regression", max_regression,
                    "--budget", budget, "--json"], EXIT_CODES)
    for which, path in (("base", base), ("new", new)):
        said[which]["path"] = path.name
    return said


def ratio_text(ratio):
    """"1.005 [0.959, 1.017]", without an interval where that is not known."""
    interval = "" if ratio["low"] is None else f" [{ratio['low']:.3f}, {ratio['high']:.3f}]"
    return f"{ratio['median']:.3f}{interval}"
