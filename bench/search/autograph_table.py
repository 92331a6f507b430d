#!/usr/bin/env python3
"""Makes tables of what build/autograph_table printed: `autograph_table.py LINES.jsonl...`.

Of a model, setting and pair of policies that is there twice, the later one counts, so that a run
of some pairs can follow one of all. Prints Markdown: AutoGraph's table as ratios beside the
paper's; plait beside the best of what only schedules or searches by the sum, with the draws in
which it stays ahead; several streams beside one; AutoGraph's ablations. All of it is predicted.
"""

import collections
import json
import math
import pathlib
import sys

SYSTEMS = {
    "JIT": ("normal_form", "sequential"),
    "TASO+JIT": ("taso", "sequential"),
    "IOS": ("normal_form", "ios"),
    "Nimble": ("normal_form", "nimble"),
    "TASO+Nimble": ("taso", "nimble"),
    "AutoGraph": ("autograph", "nimble"),
}

# AAAI 2023, table 2: ms, in the order of SYSTEMS.
PAPER = {
    "inception_v3": (8.839, 7.819, 3.788, 3.174, 2.928, 2.799),
    "resnet50": (4.566, 4.554, 3.284, 2.144, 1.988, 1.905),
    "resnext50": (7.540, 7.369, 3.056, 7.708, 5.933, 2.892),
    "nasnet_large": (13.891, 10.843, 9.583, 6.483, 13.086, 5.850),
    "nasnet_mobile": (10.155, 8.085, 3.821, 2.320, 6.540, 1.883),
    "rnntc_sru": (1.496, 1.307, None, 0.486, 0.387, 0.387),
    "bert_base": (11.011, 9.026, None, 6.923, 6.473, 6.240),
}

ABLATIONS = ("autograph", "autograph_no_dp", "autograph_no_partition", "autograph_no_path")
SCHEDULES = ("sequential", "greedy", "nimble", "ios", "opara")
GOAL_GEOMETRIC_MEAN = 1.07
# Draws of 20 from which on an order is said to be decided.
DECIDED = 19
# Less than a thousandth is no difference.
SAME = 1e-3


def read(paths):
    """Rows by model, setting and (search, schedule, candidates_max); settings and models as met."""
    rows = collections.defaultdict(lambda: collections.defaultdict(dict))
    for path in paths:
        for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
            entry = json.loads(line)
            for row in entry["rows"]:
                key = (row["search"], row["schedule"], row["candidates_max"])
                rows[entry["setting"]][entry["model"]][key] = row
    return rows


def row_of(rows, search, schedule, candidates_max=6):
    return rows.get((search, schedule, candidates_max))


def us_of(rows, *key):
    row = row_of(rows, *key)
    return row["predicted_us"] if row else None


def text(number, digits=2):
    return "" if number is None else f"{number:.{digits}f}"


def geometric_mean(numbers):
    return math.exp(sum(map(math.log, numbers)) / len(numbers)) if numbers else None


def table(heading, lines):
    return "\n".join([f"| {' | '.join(heading)} |", "|---" * len(heading) + "|"]
                     + [f"| {' | '.join(line)} |" for line in lines]) + "\n"


def systems_table(models):
    """Each system's time by AutoGraph's, predicted, and behind a slash what the paper has."""
    lines = []
    for model, paper in PAPER.items():
        if model not in models:
            continue
        rows = models[model]
        ours = us_of(rows, *SYSTEMS["AutoGraph"])
        cells = [f"{ours / 1000:.3f}"]
        for system, published in zip(SYSTEMS, paper):
            if system == "AutoGraph":
                continue
            us = us_of(rows, *SYSTEMS[system])
            ratio = text(published / paper[-1] if published else None)
            cells.append(f"{text(us / ours if us else None) or '-'} / {ratio or '-'}")
        first = us_of(rows, "taso", "nimble", 1)
        cells += [text(first / ours if first else None) or "-",
                  text(us_of(rows, "plait", "plait") / ours)]
        lines.append([model] + cells)
    others = [system for system in SYSTEMS if system != "AutoGraph"]
    return table(["model", "AutoGraph, ms", *others, "TASO+Nimble, TASO's first", "plait"], lines)


def rivals_of(rows, searches=("none", "normal_form", "taso"), systems=None):
    return {key: row for key, row in rows.items()
            if key[2] == 6 and key[0] in searches and key[1] in SCHEDULES
            and (systems is None or key[:2] in systems)}


def verdict(ahead, behind, draws):
    if ahead == 0 and behind == 0:
        return "equal"
    if ahead >= DECIDED * draws / 20:
        return "ahead"
    return "behind" if behind >= DECIDED * draws / 20 else "undecided"


def against(rows, rivals):
    """The best rival, plait's ratio over it, and in each draw over the best of that draw."""
    ours = row_of(rows, "plait", "plait")
    key = min(rivals, key=lambda name: rivals[name]["predicted_us"])
    drawn = [min(rival["drawn_us"][i] for rival in rivals.values()) / us
             for i, us in enumerate(ours["drawn_us"])]
    return key, rivals[key]["predicted_us"] / ours["predicted_us"], drawn


def mean_line(name, nominal, all_drawn):
    means = [geometric_mean(values) for values in zip(*all_drawn)]
    reached = sum(mean >= GOAL_GEOMETRIC_MEAN for mean in means)
    return [name, "", "", "", f"{geometric_mean(nominal):.3f}",
            f"{min(means):.3f} to {max(means):.3f}",
            f"{reached} of {len(means)} reach {GOAL_GEOMETRIC_MEAN}", ""]


def bar_table(models, systems=None):
    lines, nominal, all_drawn = [], [], []
    for model, rows in models.items():
        key, ratio, drawn = against(rows, rivals_of(rows, systems=systems))
        ahead = sum(value > 1 + SAME for value in drawn)
        behind = sum(value < 1 - SAME for value in drawn)
        ours = row_of(rows, "plait", "plait")
        lines.append([model, f"{ours['predicted_us'] / 1000:.3f}",
                      f"{abs(100 * ours['predicted_us'] / ours['bound_us'] - 100):.1f} %",
                      f"{key[0]} x {key[1]}", f"{ratio:.3f}",
                      f"{min(drawn):.3f} to {max(drawn):.3f}", f"{ahead} / {behind}",
                      verdict(ahead, behind, len(drawn))])
        nominal.append(ratio)
        all_drawn.append(drawn)
    lines.append(mean_line(f"geometric mean of {len(nominal)}", nominal, all_drawn))
    papers = [i for i, model in enumerate(models) if model in PAPER]
    if papers:
        lines.append(mean_line(f"of AutoGraph's {len(papers)}", [nominal[i] for i in papers],
                               [all_drawn[i] for i in papers]))
    return table(["model", "plait, ms", "over bound", "best other", "its time by plait's",
                  "in draws", "ahead / behind", ""], lines)


def streams_table(models):
    lines = []
    for model, rows in models.items():
        ours, line = row_of(rows, "plait", "plait"), row_of(rows, "plait", "sequential")
        drawn = [b / a for a, b in zip(ours["drawn_us"], line["drawn_us"])]
        lines.append([model, f"{line['predicted_us'] / 1000:.3f}",
                      f"{ours['predicted_us'] / 1000:.3f}",
                      f"{line['predicted_us'] / ours['predicted_us']:.2f}",
                      f"{min(drawn):.2f} to {max(drawn):.2f}", str(ours["streams"])])
    return table(["model", "one stream, ms", "several, ms", "ratio", "in draws", "streams"], lines)


def ablation_table(models):
    lines = []
    for model, rows in models.items():
        base = us_of(rows, "autograph", "plait")
        if base is None:
            continue
        cells = [f"{base / 1000:.3f}"]
        for search in ABLATIONS[1:] + ("plait",):
            us = us_of(rows, search, "plait")
            cells.append(text(us / base if us else None, 3))
        seconds = [row_of(rows, search, "plait") for search in ABLATIONS + ("plait",)]
        cells += [text(row["search_seconds"] if row else None) for row in seconds]
        lines.append([model] + cells)
    return table(["model", "autograph, ms", "no DP", "no partition", "alpha = 0", "plait",
                  "s: autograph", "no DP", "no partition", "alpha = 0", "plait"], lines)


def main():
    if len(sys.argv) < 2:
        print("usage: autograph_table.py LINES.jsonl...", file=sys.stderr)
        return 2
    for setting, models in read(sys.argv[1:]).items():
        print(f"## {setting}\n\nAutoGraph's systems: time by AutoGraph's, predicted / paper\n")
        print(systems_table(models))
        print("plait x plait beside the best of AutoGraph's five others\n")
        print(bar_table(models, set(SYSTEMS.values()) - {SYSTEMS["AutoGraph"]}))
        print("plait x plait beside the best of all that only schedule, and taso\n")
        print(bar_table(models))
        print("Several streams beside one\n")
        print(streams_table(models))
        print("Ablations: time by autograph's, all x plait\n")
        print(ablation_table(models))
    return 0


if __name__ == "__main__":
    sys.exit(main())
