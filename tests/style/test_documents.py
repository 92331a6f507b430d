"""The documents that README.md lists."""

import re

from repository import ROOT


def test_the_list_begins_with_how_a_program_runs_the_result():
    listed = (ROOT / "README.md").read_text().partition("## Documents")[2]
    titles = re.findall(r"\[([^]]+)\]\(([\w/.-]+)\)", listed)
    assert titles[0] == ("How your application runs the result", "docs/runtime.md")
    assert all((ROOT / path).is_file() for _, path in titles), titles
    assert (ROOT / "docs/runtime.md").read_text().startswith(f"# {titles[0][0]}\n")
