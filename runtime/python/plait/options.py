"""How to optimize, and how to reach a server."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict, Union

Path = Union[str, "os.PathLike[str]"]


class JobOptions(TypedDict, total=False):
    """How to optimize: keywords of plait.optimize and of Client.submit. What is left out has the
    default of `plait optimize` (docs/cli.md says more of each).

    device: A device that Client.devices names; "cpu".
    threads: Threads that the model may use, as many as the device has at most; 0: all.
    budget: Seconds that all of it may take; 60, or up to 600 for a model of much work.
    search: How graphs are searched: "none", "normal_form", "taso", "autograph" or "plait"; or
        one of autograph's ablations, "autograph_no_dp", "autograph_no_partition",
        "autograph_no_path"; or "plait_generated", with generated rules.
    schedule: How kernels are placed on streams.
    precision: The accuracy to keep: "strict", or within max_rel_error "auto", or "tf32", "fp16"
        or "bf16", which compute in fp32 and these numbers only.
    max_rel_error: The largest relative error of an output; alone it means precision "auto". Of
        "tf32": 0.001; of "fp16": 0.01; of "bf16": 0.05.
    accept_inconclusive: Return the fastest plan also where comparing outputs proves little.
    body: The file's graph for other runtimes: "auto", "original", "portable" or "searched".
    shapes: The shapes of inputs with symbolic dimensions.
    shape_ranges: Of such inputs, ranges of each dimension, as (low, high) or a number: the file
        holds a plan for each bucket.
    plan_for: Numbers of threads for each of which the file holds a plan; in place of threads.
    allow_predicted: plan_for may name more threads than the device has.
    drop_plans: Leave out the plans that the model came with; otherwise those for other devices,
        threads or shapes stay in the file.
    runtimes: Where results are measured: "plait", "onnxruntime", "openvino"; all there are.
    inputs: Up to 8 calls of the model, each a dict of all inputs as arrays, on which outputs are
        compared beside random ones.
    opset: Of the result; 0: that of the model.
    seed: Of everything random.
    result_cache: False: search again even if the result of an equal request is known.
    """

    device: str
    threads: int
    budget: float
    search: str
    schedule: str
    precision: str
    max_rel_error: float
    accept_inconclusive: bool
    body: str
    shapes: Mapping[str, Sequence[int]]
    shape_ranges: Mapping[str, Sequence[Union[int, tuple[int, int]]]]
    plan_for: Sequence[int]
    allow_predicted: bool
    drop_plans: bool
    runtimes: Sequence[str]
    inputs: Sequence[Mapping[str, Any]]
    opset: int
    seed: int
    result_cache: bool


NAMES = tuple(JobOptions.__annotations__)


def check_names(options: Mapping[str, Any]) -> None:
    """Raises TypeError, as Python does for a keyword that a function has not."""
    for name in options:
        if name not in NAMES:
            raise TypeError(f"there is no option {name!r}; there are {', '.join(NAMES)}")


def bounds(dimension: int | tuple[int, int]) -> tuple[int, int]:
    """The least and the largest size of a dimension of a range."""
    return (dimension, dimension) if isinstance(dimension, int) else dimension


@dataclasses.dataclass(frozen=True)
class Tls:
    """PEM files: `ca`, who may sign the server; `cert` and `key`, the caller's own certificate."""

    ca: Path | None = None
    cert: Path | None = None
    key: Path | None = None
