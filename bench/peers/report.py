"""The table and the JSON file of a comparison."""

import dataclasses
import json
import math
import pathlib
import statistics

import interleaved
import machine
import records
import rounds

HEADER = (f"{'model (nodes)':<24} {'runtime':<18} {'median ms':>10} {'p10':>9} {'p95':>9} "
          f"{'spread':>7} {'% peak':>7} {'load ms':>8} {'MiB':>6} {'error':>9}")


def table_rows(result, peaks, threads):
    """Returns the lines of one model: a row per participant, then what follows from them."""
    lines = []
    for row in result.rows:
        head = f"{f'{result.name} ({result.nodes})':<24} {row.runtime:<18}"
        if row.failure:
            lines.append(f"{head} {row.failure}")
            continue
        figures = row_figures(result, row, peaks, threads)
        memory = figures["peak_memory_bytes"]
        lines.append(
            f"{head} {figures['latency_us_median'] / 1000:>10.3f} "
            f"{figures['latency_us_p10'] / 1000:>9.3f} {figures['latency_us_p95'] / 1000:>9.3f} "
            f"{figures['spread']:>7.0%} {_optional(figures['part_of_peak'], '.0%'):>7} "
            f"{figures['load_ms']:>8.0f} {_optional(memory and memory / 2**20, '.0f'):>6} "
            f"{_optional(row.max_rel_error, '.1e'):>9}")
    return "\n".join(lines + [f"  {line}" for line in _conclusions(result)])


def _conclusions(result):
    ratio = ratio_figures(result.peer_ratios())
    if ratio:
        yield (f"the better peer ({result.better_peer().runtime}) / plait: {interval(ratio)}, "
               f"{rounds.verdict(ratio['low'], ratio['high'])}")
    session = ratio_figures(result.session_ratios())
    if session:
        yield (f"the better peer ({result.better_peer().runtime}) / plait-session: "
               f"{interval(session)}")
    for peer, ratios in result.returned_ratios().items():
        figures = ratio_figures(ratios)
        yield (f"the original / the returned file in {peer}: {interval(figures)}, "
               f"{rounds.returned_verdict(**figures)}")
    noise = ratio_figures(result.noise_floor())
    if noise:
        yield f"plait / plait, the noise floor: {interval(noise)}"
    yield interleaved.told(result.rounds)
    if not result.counted:
        yield "no round was quiet: all are shown, and nothing follows from them"


def interval(ratio):
    return f"{ratio['median']:.3f} [{ratio['low']:.3f}, {ratio['high']:.3f}]"


def _optional(value, form):
    return "-" if value is None else format(value, form)


def row_figures(result, row, peaks, threads):
    """The figures of a row, of the rounds that count."""
    turns = row.kept(result.kept_rounds)
    medians = [turn.median for turn in turns]
    median = statistics.median(medians)
    memory = [size for size in row.peak_memory_bytes if size is not None]
    peak = machine.multiply_add_peak_gflops(peaks, threads)
    plait = result.row("plait")
    # All are counted by the same flops, those of the graph that plait ran.
    flops = plait.flops if plait else None
    return {
        "latency_us_median": median,
        "latency_us_p10": statistics.median(turn.p10 for turn in turns),
        "latency_us_p95": statistics.median(turn.p95 for turn in turns),
        "spread": (max(medians) - min(medians)) / median,
        "part_of_peak": flops / median / 1000 / peak if flops and peak else None,
        "load_ms": statistics.median(row.load_ms),
        "peak_memory_bytes": max(memory, default=None),
    }


def ratio_figures(ratios):
    """The median of ratios and its 95 % interval, or None."""
    if not ratios:
        return None
    median, low, high = rounds.interval(ratios)
    return {"median": median, "low": low, "high": high}


def summary(models):
    """One line over all models of a JSON document: geometric mean and verdicts."""
    ratios = [entry["peer_ratio"] for entry in models if entry["peer_ratio"]]
    if not ratios:
        return "nothing was compared with plait"
    mean = math.exp(statistics.fmean(math.log(ratio["median"]) for ratio in ratios))
    verdicts = [rounds.verdict(ratio["low"], ratio["high"]) for ratio in ratios]
    counts = ", ".join(f"{verdicts.count(name)} {name}" for name in
                       ("faster", "undecided", "slower"))
    line = f"the better peer / plait over {len(ratios)} models: {mean:.3f} (plait: {counts})"
    sessions = [entry["session_ratio"]["median"] for entry in models if entry.get("session_ratio")]
    if sessions:
        mean = math.exp(statistics.fmean(map(math.log, sessions)))
        line += f"\nthe better peer / plait-session over {len(sessions)} models: {mean:.3f}"
    return line


def _differences(mine, theirs, part):
    """What differs in a part of two records' heads: `options (seed is 1 there, and 2 here)`."""
    if part != "options":
        return part
    told = [f"{name} is {theirs[part].get(name)!r} there, and {value!r} here"
            for name, value in mine[part].items() if theirs[part].get(name) != value]
    return f"options ({'; '.join(told)})"


class OtherRecord(Exception):
    """The file holds what was measured otherwise, or something else: it would be lost."""


class Document:
    """The JSON file of a comparison. Each model is written when it is done, so that a run that was
    ended goes on where it was. A file of another machine, other programs or other options raises
    OtherRecord."""

    OPTIONS = ("threads", "precision", "rounds", "rounds_max", "model_seconds_max", "round_ms",
               "pause_ms", "seed", "dynamic_size", "input_scale", "beside_spinner", "runtimes")

    def __init__(self, path, arguments, programs):
        self.path = path
        self.head = {
            "schema_version": 3, "machine": machine.describe(), "programs": programs,
            "options": {name: getattr(arguments, name) for name in self.OPTIONS},
            "rules": rounds.limits(),
        }
        earlier = self._earlier()
        self.models = earlier["models"] if earlier else []
        # One reading for all models of the file.
        self.peaks = earlier["peaks"] if earlier else machine.peaks(
            arguments.plait.parent / "processor_peaks")

    def find(self, digests):
        """The entry of a model that was measured already by the same files, or None."""
        return next((entry for entry in self.models if entry["digests"] == digests), None)

    def add(self, result, digests):
        """Keeps a result, in place of one of the same name, and writes the file."""
        entry = self._model(result, digests)
        self.models = [model for model in self.models if model["name"] != result.name] + [entry]
        if self.path:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            text = json.dumps(
                self.head | {"peaks": self.peaks, "models": self.models}, indent=1)
            unfinished = self.path.with_name(self.path.name + ".tmp")
            unfinished.write_text(text + "\n")
            unfinished.replace(self.path)
        return entry

    def _earlier(self):
        """What the file holds already; None where there is none."""
        if not self.path or not self.path.exists():
            return None
        try:
            document = json.loads(self.path.read_text())
            if not {*self.head, "peaks", "models"} <= document.keys():
                raise ValueError("keys are missing")
        except (AttributeError, OSError, ValueError) as error:
            raise OtherRecord(f"{self.path} is no record of peers.py ({error}): "
                              "name another file") from error
        unlike = [name for name in self.head if document[name] != self.head[name]]
        if unlike:
            raise OtherRecord(
                f"{self.path} holds {len(document['models'])} models that were measured with "
                f"other {' and '.join(_differences(self.head, document, name) for name in unlike)}"
                ": name another file, or remove this one")
        return document

    def _model(self, result, digests):
        peer = result.better_peer()
        return {
            "name": result.name, "digests": digests, "nodes": result.nodes,
            "better_peer": peer.runtime if peer else None,
            "peer_ratio": ratio_figures(result.peer_ratios()),
            "session_ratio": ratio_figures(result.session_ratios()),
            "returned_ratios": {peer: ratio_figures(ratios)
                                for peer, ratios in result.returned_ratios().items()},
            "noise_floor": ratio_figures(result.noise_floor()),
            "rounds_dropped": len(result.rounds) - result.counted,
            "rounds": [dataclasses.asdict(entry) for entry in result.rounds],
            "runtimes": [self._row(result, row) for row in result.rows],
        }

    def _row(self, result, row):
        entry = {"runtime": row.runtime, "version": row.version}
        if row.failure:
            return entry | {"failure": row.failure}
        figures = row_figures(result, row, self.peaks, self.head["options"]["threads"])
        return entry | figures | {
            "flops": row.flops,
            "max_rel_error": records.finite(row.max_rel_error),
            "load_ms_all": row.load_ms,
            "rounds": [dataclasses.asdict(turn) for turn in row.turns],
        }


def digests_of(path, rows):
    """What was measured: the model's bytes, and each participant's where they are others."""
    known = {path: records.digest(path)}
    for row in rows:
        if row.model not in known:
            known[row.model] = records.digest(row.model)
    return {"model": known[path]} | {row.runtime: known[row.model] for row in rows}
