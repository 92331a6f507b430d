"""Writes the node cases that the installed onnx package brings, in the layout of libonnx-testdata,
and the names of those whose values are no tensors to no_tensors.txt.

    python write_cases.py FOLDER
"""

import pathlib
import sys
import warnings

import numpy as np
import onnx
from onnx import numpy_helper


def tensors_of(values, declared):
    """Serialized tensors; None where a value is no tensor (a sequence, an omitted optional)."""
    if any(not isinstance(value, (np.ndarray, np.generic, onnx.TensorProto)) for value in values):
        return None
    return [
        (value if isinstance(value, onnx.TensorProto) else
         numpy_helper.from_array(np.asarray(value), info.name)).SerializeToString()
        for value, info in zip(values, declared)
    ]


def write_case(folder, case):
    """Returns whether the case is one of tensors."""
    sets = [(tensors_of(inputs, case.model.graph.input),
             tensors_of(outputs, case.model.graph.output)) for inputs, outputs in case.data_sets]
    if any(None in both for both in sets):
        return False
    folder.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(case.model.SerializeToString())
    for index, both in enumerate(sets):
        data = folder / f"test_data_set_{index}"
        data.mkdir()
        for stem, tensors in zip(("input", "output"), both):
            for place, tensor in enumerate(tensors):
                (data / f"{stem}_{place}.pb").write_bytes(tensor)
    return True


def write_cases(root):
    """Returns how many cases were written below `root`."""
    with warnings.catch_warnings():
        # Making the cases divides by zero and overflows where the operators do.
        warnings.simplefilter("ignore")
        from onnx.backend.test.case.node import collect_testcases
        cases = collect_testcases(None)
    names = {True: [], False: []}
    for case in cases:
        if case.model is not None:
            names[write_case(pathlib.Path(root) / "node" / case.name, case)].append(case.name)
    (pathlib.Path(root) / "no_tensors.txt").write_text("\n".join(names[False]))
    return len(names[True])


if __name__ == "__main__":
    print(write_cases(sys.argv[1]))
