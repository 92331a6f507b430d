"""The table and the JSON file of a comparison."""

import dataclasses
import json
import os
import pathlib
import platform

HEADER = (f"{'model (nodes)':<24} {'runtime':<18} {'median ms':>10} {'p10':>9} {'p95':>9} "
          f"{'spread':>7} {'vs ort':>7} {'error':>9}")


def table_rows(result):
    """Returns the lines of one model."""
    lines = []
    for row in result.rows:
        head = f"{f'{result.name} ({result.nodes})':<24} {row.runtime:<18}"
        if row.failure:
            lines.append(f"{head} {row.failure}")
            continue
        speedup = _optional(row.speedup_over_reference, ".2f")
        error = _optional(row.max_rel_error, ".1e")
        lines.append(
            f"{head} {row.median_us / 1000:>10.3f} {row.p10_us / 1000:>9.3f} "
            f"{row.p95_us / 1000:>9.3f} {row.spread:>7.0%} {speedup:>7} {error:>9}")
    return "\n".join(lines)


def _optional(value, form):
    return "-" if value is None else format(value, form)


def write_json(path, arguments, results):
    """Writes everything that was measured, with what is needed to repeat it."""
    document = {
        "machine": {"processor": _processor(), "cores": os.cpu_count(),
                    "system": platform.system(), "architecture": platform.machine()},
        "options": {name: getattr(arguments, name) for name in (
            "threads", "rounds", "round_ms", "pause_ms", "seed", "dynamic_size")},
        "precision": "fp32",
        "models": [_model(result) for result in results],
    }
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=2) + "\n")


def _model(result):
    return {"name": result.name, "digest": result.digest, "nodes": result.nodes,
            "runtimes": [_row(row) for row in result.rows]}


def _row(row):
    entry = {"runtime": row.runtime, "version": row.version}
    if row.failure:
        return entry | {"failure": row.failure}
    return entry | {
        "latency_us_median": row.median_us, "latency_us_p10": row.p10_us,
        "latency_us_p95": row.p95_us, "spread": row.spread, "load_ms": row.load_ms,
        "speedup_over_onnxruntime": row.speedup_over_reference,
        # JSON has no infinity; a string keeps the file readable by every parser.
        "max_rel_error": str(row.max_rel_error) if row.max_rel_error == float("inf")
        else row.max_rel_error,
        "rounds": [dataclasses.asdict(entry) for entry in row.rounds],
    }


def _processor():
    """Returns the model name of the processor; latencies mean nothing without it."""
    try:
        for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or "unknown"
