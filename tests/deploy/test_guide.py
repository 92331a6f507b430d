"""The user guide names what there is, and nothing else: verbs, options, RPCs, links, exit codes."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


def words_in(path, pattern):
    return set(re.findall(pattern, (ROOT / path).read_text(), re.MULTILINE))


def test_the_guide_names_every_verb():
    verbs = {name.lower() for name in words_in("client/commands.def",
                                               r"^PLAIT_COMMAND\((\w+)\)")}
    assert verbs and words_in("docs/cli.md", r"^\| `(\w+)(?: \[?[A-Z][^`]*)?` \| [a-z]") >= verbs


def test_the_guide_names_only_options_that_the_cli_has():
    known = {"--help"}
    for source in (ROOT / "client").rglob("*.[ch]*"):
        known |= set(re.findall(r'"(--[a-z-]+)"', source.read_text()))
    used = words_in("docs/cli.md", r"(--[a-z][a-z-]+)") | words_in(
        "docs/accuracy.md", r"(--[a-z][a-z-]+)")
    assert used - known == set()


def test_the_guide_names_every_rpc():
    guide = (DOCS / "api.md").read_text()
    for proto in (ROOT / "proto" / "plait").rglob("*.proto"):
        for name in re.findall(r"^(?:service|  rpc) (\w+)", proto.read_text(), re.MULTILINE):
            assert re.search(rf"`(plait\.[\w.]+\.)?{name}`", guide), f"{proto.name}: {name}"


def test_the_guide_names_every_exit_code():
    codes = words_in("client/exit_code.h", r"^  k\w+ = (\d+),")
    described = words_in("docs/cli.md", r"^\| (\d+) \|") | {"4"}
    assert described == codes


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda path: path.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)", page.read_text()):
        assert "://" in target or (page.parent / target).exists(), target
