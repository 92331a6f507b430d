"""The code of docs/python.md, block after block in one program, as somebody would type it."""

import re
import sys

from wheels import ROOT
from test_python_client import environment, server  # noqa: F401 (fixtures)

TEXT = (ROOT / "docs/python.md").read_text()


def test_the_code_of_the_guide_runs(environment, server, model, tmp_path):  # noqa: F811
    blocks = re.findall(r"^```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 4
    (tmp_path / "model.onnx").write_bytes(model.read_bytes())
    program = "\n".join(blocks).replace("127.0.0.1:7400", server.address)
    # A minute for a model of 30 nodes is more than it needs.
    program = program.replace("budget=60", "budget=5")
    out = environment.run("python", "-c", program, cwd=tmp_path)
    assert "times as fast" in out and "the plan in the model is used" in out
    assert "SUCCEEDED" in out and (tmp_path / "model.opt.onnx").exists()


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
