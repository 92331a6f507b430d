"""Judgements of the candidates that a folder has: their errors, and what their code takes."""

import math
import pathlib
import re

import results_folder
from judgements import NOT_RUN, REFUTED, decided
from judgements_of_jobs import equivalence

# The bounds of gpu_worker/backends/cuda/problem/difference.h (tf32: of an attention, twice those of
# other kernels).
KERNEL_ERROR_MAX = {"strict": 1e-5, "tf32": 2e-3, "fp16": 1e-2, "bf16": 3e-2}
# How candidate_trial.cc says that those on a stream were right.
IN_A_GRAPH = "in a graph:"

# Registers of generated kernels, by ptxas without a GPU, and the capabilities of its columns.
GENERATED_KERNELS = pathlib.Path(__file__).resolve().parents[2].joinpath(
    "optimizer/cost/generated_kernels.def")
COUNTED_CAPABILITIES = ("8.0", "8.9", "9.0")


def registers_counted(capability):
    """Of a thread, by kernel as candidates name it; nothing of a capability that has no column."""
    if capability not in COUNTED_CAPABILITIES or not GENERATED_KERNELS.is_file():
        return {}
    column = COUNTED_CAPABILITIES.index(capability)
    lines = re.findall(r'^PLAIT_GENERATED_KERNEL\((\w+), "(.+)", \d+, \d+, (.+)\)$',
                       GENERATED_KERNELS.read_text(), re.MULTILINE)
    return {f"{family}/{variant}": int(columns.split(", ")[column])
            for family, variant, columns in lines}


def registers_taken(found):
    """Of the generated kernels in strict fp32. One variant that takes more refutes; nothing is
    confirmed before all have run."""
    counted, taken = registers_counted(found.capability), {}
    for line in found.profiles:
        name = line["variant"].partition("/generated/")[2]
        if line["precision"] == "strict" and name in counted and line.get("kernel_registers"):
            taken[name] = max(taken.get(name, 0), *line["kernel_registers"])
    if not taken:
        return NOT_RUN, ""
    more = [f"{name} {count} of {counted[name]}" for name, count in taken.items()
            if count > counted[name]]
    told = ", ".join([f"{len(taken)} of {len(counted)} variants", *more])
    return (NOT_RUN, told) if len(taken) < len(counted) and not more else decided(not more, told)


def candidates_of(lines):
    """One may have two lines: with warm weights and with cold ones."""
    return {(line["graph"], line["variant"]) for line in lines}


def error_of(line):
    """The relative L2 error of a line; infinite where results were no numbers."""
    if results_folder.is_timed(line):
        return line["relative_l2"]
    told = re.search(r"relative L2 (\S+) of", line["failure"])
    return float(told[1]) if told else math.inf


def kernel_errors(precision):
    """A judgement of all candidates that were recorded in a precision."""
    def judge(found):
        right = [line for line in found.profiles
                 if line["precision"] == precision and "relative_l2" in line]
        wrong = [line for line in found.wrong if line["precision"] == precision]
        if not right and not wrong:
            return NOT_RUN, ""
        error = max(map(error_of, right + wrong))
        return decided(not wrong and error <= KERNEL_ERROR_MAX[precision],
                       f"{len(candidates_of(right + wrong))} candidates, {told_of(wrong)}"
                       f"the largest {error:.1e}")
    return judge


def told_of(wrong, where=""):
    """How many candidates are wrong and the name of the first, as a part of a sentence."""
    if not wrong:
        return ""
    return f"{len(candidates_of(wrong))} wrong{where} ({wrong[0]['variant']}), "


def of_libraries(lines):
    return [line for line in lines
            if not {"cudnn", "cublaslt"}.isdisjoint(line["variant"].split("/"))]


def library_nodes(found):
    """By the candidates of libraries: each was captured, and what its nodes compute compared,
    before it was timed; and by the jobs whose plans have copies of such nodes."""
    right = of_libraries(line for line in found.profiles if line.get("kernel_names"))
    wrong = of_libraries(line for line in found.wrong if line["failure"].startswith(IN_A_GRAPH))
    captured = f"{len(candidates_of(right + wrong))} candidates captured"
    if wrong:
        error = max(map(error_of, wrong))
        return REFUTED, f"{captured}, {told_of(wrong, ' in a graph')}error at most {error:.1e}"
    stands, told = equivalence(found)
    if not right or stands == NOT_RUN:
        return NOT_RUN, ""
    return stands, f"{captured}; {told}"
