#!/usr/bin/env python3
"""What the jobs and candidates of a recorded folder say, as Markdown.

    bench/gpu/recorded.py bench/results/gpu/nvidia-h200/2026-11-26

Jobs: the last one of each model (jobs.json) beside its fastest peer (peers.json).
Candidates (candidates.jsonl, a line for each problem that had a choice): how often each form of a
generated kernel was the fastest of its family, and what a problem takes with that form alone; what
the vector lengths that are listed cost; cuDNN's pools, and separable convolutions, beside others.
"""

import argparse
import collections
import json
import math
import pathlib
import re

from results_folder import markdown_table

# As in gpu_worker/backends/cuda/generated/kernel.h.
THREADS_TO_FILL = 65536
ORIGINS = {"baseline": "original", "normal_form": "normal form", "searched": "searched"}


def call_of(entry):
    """What entries of one call of bench/gpu/run share; before it was kept, their time did."""
    return entry.get("call") or entry.get("time_utc")


def fastest_peers(peers):
    """By model: microseconds, name and call of the fastest peer with a time, in strict fp32."""
    found = {}
    for entry in peers["entries"]:
        if entry.get("precision", "strict") != "strict":
            continue
        timed = [(peer["latency_us_median"], name) for name, peer in entry["peers"].items()
                 if peer.get("latency_us_median")]
        if timed:
            found[entry["model"]] = (*min(timed), call_of(entry))
    return found


def strict_jobs(jobs):
    """By model: the last job in strict fp32, with the schedule that is the default."""
    return {job["model"]: job for job in jobs if job.get("setting", "strict") == "strict"}


def jobs_table(jobs, peers):
    """Rows, and the ratios of peer and plait."""
    rows = [["model", "original", "plait", "what", "error", "best peer", "peer / plait",
             "in one call"]]
    ratios = []
    for model, job in sorted(strict_jobs(jobs).items()):
        us = job["optimized"]["latency_us_median"]
        row = [model, f"{job['baseline']['latency_us_median']:.0f}", f"{us:.0f}",
               ORIGINS[job["optimized"]["origin"]], f"{job['equivalence']['max_rel_error']:.1e}"]
        if model in peers:
            peer_us, name, call = peers[model]
            ratios.append(peer_us / us)
            row += [f"{peer_us:.0f} ({name})", f"{peer_us / us:.2f}",
                    "yes" if call and call == call_of(job) else "no"]
        else:
            row += ["not run", "", ""]
        rows.append(row)
    return rows, ratios


def geometric_mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def times_of(record):
    """By candidate: the time in turns of a finalist, that in a graph of five of others."""
    finalists = {name: us for name, us in record.get("finalist_us", {}).items() if us > 0}
    return {**record["us"], **finalists}


def generated(records, family):
    """Of each problem, in order: the times of that family's forms."""
    prefix = f"generated/{family}/"
    found = [(record["problem"], {name.removeprefix(prefix): us
                                  for name, us in times_of(record).items()
                                  if name.startswith(prefix)}) for record in records]
    return [(problem, times) for problem, times in found if times]


def forms_table(records, family):
    """Of each form: problems that have it, where it is the fastest, and time over the best."""
    problems = generated(records, family)
    wins = collections.Counter(min(times, key=times.get) for _, times in problems)
    rows = [["form", "problems", "fastest", "time / best of all forms"]]
    for form in sorted({form for _, times in problems for form in times}):
        having = [times for _, times in problems if form in times]
        ratio = sum(times[form] for times in having) / sum(min(times.values()) for times in having)
        rows.append([f"{family}/{form}", len(having), wins[form], f"{ratio:.3f}"])
    return rows


def listed_elementwise(problem, times):
    """The form that is listed of an elementwise problem."""
    elements = math.prod(map(int, problem.split("]")[1].split()[:-1]))
    width = max(int(form[1:]) for form in times)
    while width > 2 and elements / width < THREADS_TO_FILL:
        width //= 2
    return f"v{width}"


def listed_elementwise_ratio(records):
    problems = generated(records, "elementwise")
    listed = sum(times[listed_elementwise(problem, times)] for problem, times in problems)
    return listed / sum(min(times.values()) for _, times in problems)


def library_pool_ratios(records):
    """cuDNN's fastest pool over ours, of each problem that both have."""
    ratios = []
    for record in records:
        ours = [us for name, us in record["us"].items() if name.startswith("generated/pool/")]
        theirs = [us for name, us in record["us"].items() if name.startswith("cudnn/")]
        if ours and theirs:
            ratios.append(min(theirs) / min(ours))
    return ratios


def separable_ratios(records):
    """A fused separable convolution over its halves apart: where blocks are few, and elsewhere."""
    # The fastest where several differ in what follows them only, which the text does not say.
    alone = {}
    for record in records:
        us = min(times_of(record).values())
        alone[record["problem"]] = min(us, alone.get(record["problem"], us))
    few, many = [], []
    for problem, times in generated(records, "separable"):
        found = re.fullmatch(r"separable_conv n1 c(\d+) h(\d+) w\d+ k\d+ r(\d+)x\d+ st(\d+) g\d+ "
                             r"K(\d+) (\w+)", problem)
        c, h, r, stride, outputs = map(int, found.groups()[:5])
        layout = found.group(6)
        depthwise = f"conv n1 c{c} h{h} w{h} k{c} r{r}x{r} st{stride} g{c} {layout}"
        for size in {-(-h // stride), (h - r) // stride + 1}:
            pointwise = f"conv n1 c{c} h{size} w{size} k{outputs} r1x1 st1 g1 {layout}"
            if depthwise in alone and pointwise in alone:
                blocks = -(-size * size // 16) * -(-outputs // 64)
                ratio = min(times.values()) / (alone[depthwise] + alone[pointwise])
                (many if blocks >= 2 * c else few).append(ratio)
    return few, many


def span(ratios):
    return f"{len(ratios)} problems, {min(ratios):.2f} to {max(ratios):.2f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=pathlib.Path)
    folder = parser.parse_args().folder
    jobs = json.loads((folder / "jobs.json").read_text())
    peers = fastest_peers(json.loads((folder / "peers.json").read_text()))
    records = [json.loads(line) for line in (folder / "candidates.jsonl").read_text().splitlines()]
    rows, ratios = jobs_table(jobs, peers)
    print(f"## Jobs\n\n{markdown_table(rows)}\n\nGeometric mean of {len(ratios)}: "
          f"{geometric_mean(ratios):.2f}\n\n## Candidates of {len(records)} problems\n")
    for family in ("elementwise", "depthwise", "separable", "pool"):
        print(f"{markdown_table(forms_table(records, family))}\n")
    few, many = separable_ratios(records)
    print(f"- the elementwise form that is listed / best: {listed_elementwise_ratio(records):.3f}\n"
          f"- cuDNN's pools / ours: {span(library_pool_ratios(records))}\n"
          f"- fused separable / halves apart, fewer than two blocks a channel: {span(few)}\n"
          f"- the same, others: {span(many)}")


if __name__ == "__main__":
    main()
