"""What an optimization has made, and the jobs of a server.

Fields have the names and meanings of docs/schema (optimize, jobs, watch, devices) and of the
comments in plait/v1/*.proto. A server may know more fields than this version: those are left out.
Nothing here can be changed, and may be shared between threads."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Mapping, Sequence
# Not `X | None`, which Python 3.9 cannot evaluate, as reading.read() does.
from typing import Optional


@dataclasses.dataclass(frozen=True)
class HostSegment:
    """Nodes that plait lacks, which run in another runtime between its plans."""

    operators: tuple[str, ...]
    nodes: int
    reason: str


@dataclasses.dataclass(frozen=True)
class ModelReport:
    """The model that was given."""

    digest: str
    nodes: int
    opaque_nodes: tuple[str, ...]
    host_segments: tuple[HostSegment, ...]


@dataclasses.dataclass(frozen=True)
class DeviceReport:
    """Where it was measured."""

    id: str
    name: str
    fingerprint: str
    predicted: bool


@dataclasses.dataclass(frozen=True)
class FallbackOperator:
    """Nodes of one operator that reference code computes, because the device has no kernel for
    them: how many, and the names of the first 16."""

    op_type: str
    nodes: int
    names: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class BaselineReport:
    """The original, one kernel for each operator; times of one run in microseconds.

    Of a device that is only described (`DeviceReport.predicted`) nothing is measured: all but the
    prediction and its bounds, which other devices have not, are None. `fallback_operators` lists
    what `fallback_nodes` counts, and nothing in a report of an older plait."""

    latency_us_median: Optional[float]
    latency_us_p10: Optional[float]
    latency_us_p95: Optional[float]
    samples: Optional[int]
    kernels: int
    fallback_nodes: int
    fallback_operators: tuple[FallbackOperator, ...]
    offchip_bytes: int
    predicted_us: float
    predicted_us_low: Optional[float]
    predicted_us_high: Optional[float]
    load_ms: Optional[float]


@dataclasses.dataclass(frozen=True)
class OptimizedReport(BaselineReport):
    """What was returned."""

    precision: str
    origin: Optional[str]
    schedule: Optional[str]
    portable: bool
    body: Optional[str]
    formats: dict[str, float]
    copies: Optional[int]


@dataclasses.dataclass(frozen=True)
class OutputError:
    """How far one output is from the original's; None: infinitely."""

    name: str
    max_abs_error: Optional[float]
    max_rel_error: Optional[float]
    rms_error: Optional[float]
    max_channel_error: Optional[float]


@dataclasses.dataclass(frozen=True)
class EquivalenceReport:
    """How both were compared. `verdict`: "equivalent", "different" or "inconclusive"."""

    verdict: str
    max_abs_error: Optional[float]
    max_rel_error: Optional[float]
    inputs_tried: int
    exact_ratio: Optional[float]
    shapes_checked: int
    outputs: tuple[OutputError, ...]


@dataclasses.dataclass(frozen=True)
class PlanTimes:
    """A plan that ran beside the original: as it was predicted, and as it was measured."""

    predicted_us: float
    latency_us_median: float
    speedup_predicted: float
    speedup: float
    won: bool


@dataclasses.dataclass(frozen=True)
class SearchReport:
    """Where the time went and what was found."""

    seconds: float
    profiling_seconds: float
    verification_seconds: float
    candidates: int
    candidates_measured: int
    profiles_measured: int
    profiles_cached: int
    rules_applied: dict[str, int]
    regions: int
    regions_solved: int
    budget_exhausted: bool
    trace: str = ""
    plan_times: tuple[PlanTimes, ...] = ()  # these four are missing in a report of an older plait
    peak_memory_bytes: Optional[int] = None
    worker_peak_memory_bytes: Optional[int] = None
    profiles_unsteady: int = 0


@dataclasses.dataclass(frozen=True)
class PlanReport:
    """The plan inside the result."""

    digest: str
    streams: int
    arena_bytes: int


@dataclasses.dataclass(frozen=True)
class FilePlanReport:
    """One of the plans in the file. The speed-ups are of its own search. Where the plan is
    predicted, because the device has fewer threads or is only described, nothing was measured: they
    and `latency_us_median` are None, and `predicted_us` is all that is known."""

    device: str
    threads: int
    shapes: Mapping[str, Sequence[int]]
    latency_us_median: Optional[float]
    predicted_us: Optional[float]
    speedup: Optional[float]
    speedup_low: Optional[float]
    speedup_high: Optional[float]
    predicted: bool


@dataclasses.dataclass(frozen=True)
class KeptPlanReport:
    """A plan of an earlier job that is still in the file, for another device, or other threads or
    shapes."""

    device_fingerprint: str
    threads: int
    shapes: Mapping[str, Sequence[int]]
    predicted: bool


@dataclasses.dataclass(frozen=True)
class DefaultPlanReport:
    """What a device runs for which no plan in the file fits; `ratio`: its time divided by that of
    the plan."""

    latency_us_median: float
    ratio: float


@dataclasses.dataclass(frozen=True)
class RuntimeReport:
    """The original and what was returned in one runtime; None: not measured."""

    runtime: str
    version: str
    options: str
    threads: int
    original_us_median: Optional[float]
    original_us_p10: Optional[float]
    original_us_p95: Optional[float]
    latency_us_median: Optional[float]
    latency_us_p10: Optional[float]
    latency_us_p95: Optional[float]
    ratio: float
    ratio_low: float
    ratio_high: float
    note: str


@dataclasses.dataclass(frozen=True)
class Recommendation:
    """The fastest of the runtimes."""

    runtime: str
    threads: int
    options: str
    latency_us: float


@dataclasses.dataclass(frozen=True)
class Refusal:
    """What was tried in vain: a plan, or the kernels of a family. `reason`: "different",
    "inconclusive", "failed", "not_chosen", "not_faster" or "inaccurate". None: not what the reason
    is about; an `error` of None beside a `limit` is infinite."""

    reason: str
    kernel: Optional[str]
    layers: Optional[int]
    error: Optional[float]
    limit: Optional[float]
    place: str
    predicted_us: Optional[float]
    speedup_predicted: Optional[float]
    latency_us_median: Optional[float]
    speedup: Optional[float]
    speedup_certain: Optional[float]
    message: str


@dataclasses.dataclass(frozen=True)
class OutputReport:
    """Where the optimized model is; `path` is empty where no file was written."""

    path: str
    digest: str


@dataclasses.dataclass(frozen=True)
class OptimizeResult:
    """What was done to a model, how much faster it became, and how that was checked. `speedup` is
    the baseline's time divided by the optimized model's, and never below 1."""

    id: str
    cached: bool
    model: ModelReport
    device: DeviceReport
    schema_version: int
    engine_version: str
    warnings: tuple[str, ...]
    baseline: BaselineReport
    optimized: OptimizedReport
    speedup: float
    speedup_low: Optional[float]
    speedup_high: Optional[float]
    equivalence: EquivalenceReport
    search: SearchReport
    plan: PlanReport
    plans: tuple[FilePlanReport, ...]
    default_plan: Optional[DefaultPlanReport]
    runtimes: tuple[RuntimeReport, ...]
    recommended: Optional[Recommendation]
    refused: tuple[Refusal, ...]
    measurement_log: str
    output: OutputReport
    kept_plans: tuple[KeptPlanReport, ...] = ()  # none in a report of an older plait


@dataclasses.dataclass(frozen=True)
class JobError:
    """Why a job ended without a result; `reason` as plait.Error has it."""

    reason: str
    message: str


@dataclasses.dataclass(frozen=True)
class Job:
    """A job as it was when the server was asked. `state`: "QUEUED", "RUNNING", "SUCCEEDED",
    "FAILED", "CANCELLED" or "QUARANTINED"."""

    id: str
    state: str
    device: str
    model: str
    submitted_at: Optional[datetime.datetime] = None
    started_at: Optional[datetime.datetime] = None
    ended_at: Optional[datetime.datetime] = None
    phase: str = ""
    fraction: float = 0.0
    seconds_left: float = 0.0
    speedup: float = 0.0
    speedup_predicted: float = 0.0
    error: Optional[JobError] = None

    @property
    def is_over(self) -> bool:
        """Whether the state is final."""
        return self.state not in ("QUEUED", "RUNNING")


@dataclasses.dataclass(frozen=True)
class Event:
    """Something that happened to a job. `type`: "QUEUED", "STARTED", "PHASE" (`text` names it),
    "PROGRESS", "INCUMBENT" (`speedup` is predicted), "MEASURED", "WORKER_LOST", or a final state;
    later versions may have others."""

    sequence: int
    type: str
    time: Optional[datetime.datetime]
    text: str
    fraction: float
    seconds_left: float
    speedup: float


@dataclasses.dataclass(frozen=True)
class Device:
    """A device of a server, and how busy it is. With a `runtime_version` it is a runtime that
    results are measured in, and no device that jobs can name."""

    id: str
    name: str
    fingerprint: str
    cores: int
    instruction_set: str
    memory_bytes: int
    predicted: bool
    runtime_version: str
    workers: int
    workers_idle: int


@dataclasses.dataclass(frozen=True)
class Capabilities:
    """The names and limits that a server accepts."""

    version: str
    engine_version: str
    opset_min: int
    opset_max: int
    search_policies: tuple[str, ...]
    schedule_policies: tuple[str, ...]
    precisions: tuple[str, ...]
    bodies: tuple[str, ...]
    model_bytes_max: int
    model_nodes_max: int
    blob_chunk_bytes_max: int
    budget_seconds_max: float
    warnings: tuple[str, ...]
