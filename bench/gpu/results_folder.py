"""A folder of results as `run` leaves it: its files, their checks, and the tables over them."""

import collections
import json

import profile_packing

FILES = ("device.json", "kernels.jsonl", "constants.json", "jobs.json",
         *profile_packing.PACKED_FILES, "peers.json", "contention.jsonl", "run.log")
FILE_BYTES_MAX = 16 << 20
REASONS_MAX = 12


class FolderFault(Exception):
    """Something in the folder that must not be imported; the message names the file."""


def read_json(path):
    """The value of a JSON file, None when it is missing. Raises FolderFault."""
    if not path.is_file():
        return None
    try:
        return json.loads(path.read_text())
    except ValueError as error:
        raise FolderFault(f"{path.name}: not JSON: {error}") from error


def read_lines(path):
    """The objects of a JSON Lines file, [] when it is missing.

    The last line may be half written, since a run can be cut off; it is left out. Raises
    FolderFault for any other line that is no object.
    """
    if not path.is_file():
        return []
    lines = path.read_text().split("\n")
    records = []
    for number, line in enumerate(lines, 1):
        if not line:
            continue
        try:
            record = json.loads(line)
        except ValueError as error:
            if number == len(lines):
                break
            raise FolderFault(f"{path.name}:{number}: not JSON: {error}") from error
        if not isinstance(record, dict):
            raise FolderFault(f"{path.name}:{number}: not an object")
        records.append(record)
    return records


def failure_of(record):
    """The reason of a line about a candidate that failed; None for any other line."""
    return str(record.get("failure", "no reason")) if record.get("record") == "failure" else None


def is_timed(record):
    """Whether the line holds a time."""
    return record.get("record") == "profile"


class Results:
    """Everything that a folder holds, read once."""

    def __init__(self, folder):
        self.folder = folder
        self.device = read_json(folder / "device.json")
        self.constants = read_json(folder / "constants.json")
        self.peers = read_json(folder / "peers.json")
        self.kernels = read_lines(folder / "kernels.jsonl")
        self.contention = read_lines(folder / "contention.jsonl")
        self.profiles = [self._unpacked(name, record) for name in profile_packing.PACKED_FILES
                         for record in read_lines(folder / name)]

    def _unpacked(self, name, record):
        try:
            return profile_packing.unpack(record, self.kernels)
        except KeyError as error:
            raise FolderFault(f"{name}: {error} is not in kernels.jsonl") from error

    def check(self, allow_fake=False):
        """Raises FolderFault unless the folder may be imported as measurements."""
        if self.device is None:
            raise FolderFault("device.json is missing")
        for path in self.folder.iterdir():
            if path.name not in FILES:
                raise FolderFault(f"{path.name}: not a file of a results folder")
            if path.stat().st_size > FILE_BYTES_MAX:
                raise FolderFault(f"{path.name}: larger than {FILE_BYTES_MAX >> 20} MiB")
        if not allow_fake:
            self._check_real()
        known = {(record["family"], record["graph"]) for record in self.kernels}
        for record in self.profiles:
            if (record.get("family"), record["graph"]) not in known:
                raise FolderFault("a profile of a kernel that kernels.jsonl does not list: "
                                  f"{str(record)[:200]}")
            if is_timed(record) and not (record.get("latency_us_median", 0) > 0
                                         and record.get("samples", 0) > 0):
                raise FolderFault(f"a profile without a time: {str(record)[:200]}")

    def _check_real(self):
        if self.device.get("fake") or self.device.get("device") != "cuda":
            raise FolderFault("device.json: a fake or a processor, no measurements of a GPU")
        if self.peers is not None and self.peers.get("device") != "cuda":
            raise FolderFault("peers.json: timed on a processor")
        records = self.profiles + self.contention + ([self.constants] if self.constants else [])
        for record in records:
            if record.get("device") == "fake" or record.get("fake"):
                raise FolderFault(f"a line of the fake device: {str(record)[:200]}")


def profile_table(results):
    """Kernels recorded, candidates timed and failed, by family.

    A candidate is one way to compute one kernel in one precision and layout; with warm and with
    cold weights it is still one.
    """
    kernels = collections.Counter(record["family"] for record in results.kernels)
    recorded, timed, failed = {}, {}, {}
    for record in results.profiles:
        family = record["family"]
        candidate = (record["graph"], record.get("variant"))
        if is_timed(record):
            timed.setdefault(family, set()).add(candidate)
            recorded.setdefault(family, set()).add(record["graph"])
        elif failure_of(record) is not None:
            failed.setdefault(family, set()).add(candidate)
    columns = (recorded, timed, failed)
    rows = [["family", "listed", "recorded", "candidates timed", "failed"]]
    for family in sorted(set(kernels).union(*columns)):
        rows.append([family, kernels[family], *(len(column.get(family, ())) for column in columns)])
    rows.append(["all", sum(kernels.values()),
                 *(sum(map(len, column.values())) for column in columns)])
    return rows


def failure_table(results):
    """The reasons of failures, the commonest first, cut to their first words."""
    reasons = collections.Counter(
        failure_of(record)[:100] for record in results.profiles if failure_of(record))
    return [["failures", "reason"]] + [[count, reason] for reason, count in
                                       reasons.most_common(REASONS_MAX)]


def constants_table(results):
    """The numbers of constants.json, each with the parameter it was measured at."""
    entries = (results.constants or {}).get("constants", [])
    rows = [["constant", "parameter", "value", "unit", "p10", "samples"]]
    for entry in entries:
        rows.append([entry["name"], entry["parameter"], f"{entry['value']:.4g}", entry["unit"],
                     f"{entry['p10']:.4g}", entry["samples"]])
    return rows


def constants_failures(results):
    """What could not be measured, one row each."""
    rows = [["not measured", "reason"]]
    for failure in (results.constants or {}).get("failures", []):
        rows.append([failure.get("group", "?"), str(failure.get("reason", "?"))[:200]])
    return rows


def contention_table(results):
    """How many sets of kernels ran side by side, and how many are set aside."""
    runs = [record for record in results.contention if record.get("record") == "contention"]
    sizes = collections.Counter(record["kernels"] for record in runs)
    held_out = collections.Counter(record["kernels"] for record in runs if record["held_out"])
    rows = [["kernels side by side", "runs", "held out"]]
    return rows + [[size, sizes[size], held_out[size]] for size in sorted(sizes)]


def precision_table(results):
    """Candidates timed by precision and memory layout."""
    timed = {}
    for record in results.profiles:
        if is_timed(record):
            key = (record.get("precision", "?"), record.get("memory_layout", "?"))
            timed.setdefault(key, set()).add((record["graph"], record.get("variant")))
    return [["precision", "memory layout", "candidates timed"]] + \
        [[*key, len(candidates)] for key, candidates in sorted(timed.items())]


def peers_table(results):
    """Device time of each peer, median in microseconds and p10; what failed says so."""
    entries = (results.peers or {}).get("entries", [])
    names = list(dict.fromkeys(name for entry in entries for name in entry["peers"]))
    rows = [["model", "precision", *names]]
    for entry in entries:
        cells = []
        for name in names:
            record = entry["peers"].get(name)
            if record is None:
                cells.append("")
            elif "failure" in record:
                cells.append("failed")
            else:
                mark = "*" if record["timer"] == "host" else ""
                cells.append(f"{record['latency_us_median']:.0f}{mark} "
                             f"({record['latency_us_p10']:.0f})")
        rows.append([entry["model"], entry["precision"], *cells])
    return rows


def peer_failures(results):
    """Why peers failed, one row each."""
    rows = [["peer", "model", "precision", "reason"]]
    for entry in (results.peers or {}).get("entries", []):
        for name, record in entry["peers"].items():
            if "failure" in record:
                rows.append([name, entry["model"], entry["precision"], record["failure"][:160]])
    return rows


def text_table(rows):
    """Columns padded with blanks, for a terminal."""
    widths = [max(len(str(row[i])) for row in rows if i < len(row))
              for i in range(max(map(len, rows)))]
    return "\n".join("  ".join(str(cell).ljust(width) for cell, width in zip(row, widths)).rstrip()
                     for row in rows)


def markdown_table(rows):
    """The rows as Markdown; bars in cells are escaped."""
    def line(cells):
        return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"
    return "\n".join([line(rows[0]), "|" + "---|" * len(rows[0]), *map(line, rows[1:])])
