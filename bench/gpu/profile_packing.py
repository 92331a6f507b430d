"""Profile lines without the graph text that most of them share.

The recorder repeats a kernel's graph in every line, so that each stands alone. Results folders are
limited in size: there a line has "kernel", the number of its line in kernels.jsonl (from 0), in
place of "graph", and the lines are spread over PACKED_FILES.
"""

import json

PACKED_FILES = ("profiles.jsonl", "profiles_2.jsonl")
# Of 16 MiB; a margin for lines that are on their way when a run is cut off.
PACKED_BYTES_MAX = (16 << 20) - (1 << 18)
# Fields that follow from the kernel's line.
REDUNDANT = ("graph", "origin", "priority")


def kernel_numbers(kernels):
    """Maps graph texts to line numbers of a kernel list."""
    return {record["graph"]: number for number, record in enumerate(kernels)}


def pack_line(line, numbers):
    """Returns the packed line; None for one that is torn or about a kernel that is not listed."""
    try:
        record = json.loads(line)
        number = numbers[record["graph"]]
    except (ValueError, KeyError, TypeError):
        return None
    packed = {"kernel": number}
    packed.update((name, value) for name, value in record.items() if name not in REDUNDANT)
    return json.dumps(packed, separators=(",", ":")) + "\n"


def unpack(record, kernels):
    """Returns the record with its graph. Raises KeyError when its kernel is not in the list."""
    if "graph" in record:
        return record
    number = record["kernel"]
    if not isinstance(number, int) or not 0 <= number < len(kernels):
        raise KeyError(f"kernel {number}")
    return {**{name: value for name, value in record.items() if name != "kernel"},
            "graph": kernels[number]["graph"]}


class Packer:
    """Follows the recorder's file and appends what is new to the packed files of a folder."""

    def __init__(self, source, folder, kernels):
        self.source, self.folder = source, folder
        self.numbers = kernel_numbers(kernels)
        self.offset = 0
        self.dropped = 0
        self.files = [folder / name for name in PACKED_FILES]
        for path in self.files:
            path.unlink(missing_ok=True)

    @property
    def full(self):
        """Whether lines had to be left out."""
        return self.dropped > 0

    def sync(self):
        """Packs the complete lines that were written since the last call."""
        if not self.source.is_file():
            return
        with self.source.open("rb") as file:
            file.seek(self.offset)
            data = file.read()
        end = data.rfind(b"\n") + 1
        self.offset += end
        self._append([packed for packed in (
            pack_line(line, self.numbers) for line in data[:end].splitlines())
            if packed is not None])

    def _append(self, lines):
        for path in self.files:
            room = PACKED_BYTES_MAX - (path.stat().st_size if path.is_file() else 0)
            taken = 0
            for taken, line in enumerate(lines):
                room -= len(line.encode())
                if room < 0:
                    break
            else:
                taken = len(lines)
            if taken:
                with path.open("a") as file:
                    file.writelines(lines[:taken])
            lines = lines[taken:]
        self.dropped += len(lines)
