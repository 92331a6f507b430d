"""Every plug-in has the files that the architecture promises, and a line in its list."""

import re

from repository import ROOT, entries, relative, report


def snake_case(name):
    name = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name.replace("NaN", "Nan"))
    return re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", name).lower()


def extension_points():
    """The rows of ARCHITECTURE.md's table whose files a name tells: what, files, list."""
    text = (ROOT / "ARCHITECTURE.md").read_text().partition("## How to add things")[2]
    for line in text.splitlines():
        if line.startswith("| a") and "<name>" in line:
            what, files, lists, _ = (cell.strip() for cell in line.strip("|").split("|"))
            (listed,) = re.findall(r"`([^`]+\.def)`", lists)
            yield what, re.findall(r"`([^`]+<name>[^`]*)`", files), listed


def promised(files, listed):
    """The files that each line of a list stands for."""
    for name in entries(listed, r"^PLAIT_\w+"):
        for file in files:
            yield file.replace("<name>", snake_case(name))


def test_every_extension_point_is_as_the_architecture_says():
    faults = []
    for what, files, listed in extension_points():
        places = list(promised(files, listed))
        if not places:
            faults.append(f"{what}: {listed} lists nothing, or no file is named")
        missing = [place for place in places if not (ROOT / place).exists()]
        faults += [f"{listed}: {place} is missing" for place in missing]
    report(faults)


def test_no_plug_in_is_left_out_of_its_list():
    rows = list(extension_points())
    listed = {place for _, files, listed in rows for place in promised(files, listed)}
    faults = []
    for what, files, _ in rows:
        for file in files:
            folder, name = file.rsplit("/", 1)
            if not name.startswith("<name>."):
                continue
            for path in (ROOT / folder).glob(name.replace("<name>", "*")):
                is_helper = path.with_suffix(".h").exists()
                if relative(path) not in listed and not is_helper:
                    faults.append(f"{relative(path)}: is {what} that no list names")
    report(faults)
