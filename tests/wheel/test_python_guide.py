"""What docs/python.md says of errors. Its code runs in test_python_client.py."""

import re
import sys

from wheels import ROOT

TEXT = (ROOT / "docs/python.md").read_text()


def test_it_lists_every_error_with_its_reasons():
    sys.path.insert(0, str(ROOT / "runtime" / "python"))
    from plait import errors

    table = dict(re.findall(r"^\| (.+?) \| (.+?) \|$", TEXT.partition("## Errors")[2],
                            re.MULTILINE))
    for name in errors.__all__:
        if name != "Error":
            assert any(f"`{name}`" in classes for classes in table), name
    for reason, kind in errors._CLASSES.items():
        (row,) = [reasons for classes, reasons in table.items()
                  if f"`{kind.__name__}`" in classes]
        assert f"`{reason}`" in row, reason
