#!/usr/bin/env python3
"""What plait says of a GPU that only a GPU can show, and what a recorded folder says to it.

    bench/gpu/claims.py bench/results/gpu/nvidia-h200/2026-11-26 > docs/gpu-claims.md

Each claim is confirmed, refuted, or not run on a GPU, with the figure that decides it and the
command that settles it.
"""

import argparse
import dataclasses
import math
import pathlib
import re
import statistics
import typing

import recorded
import results_folder
import side_by_side
from jobs import POLICIES
from results_folder import markdown_table

CONFIRMED, REFUTED, NOT_RUN = "confirmed", "refuted", "not run on a GPU"

# The bounds of gpu_worker/backends/cuda/problem/difference.h (tf32: of an attention, twice those of
# other kernels) and of a strict job.
KERNEL_ERROR_MAX = {"strict": 1e-5, "tf32": 2e-3, "fp16": 1e-2, "bf16": 3e-2}
JOB_ERROR_MAX = 1e-4
RATIO_GOAL, RATIO_GOAL_BRANCHED = 1.10, 1.4
PEERS_BESIDE_TORCH = ("compile", "jax")
BRANCHED = ("inception_v3", "nasnet_mobile", "nasnet_large")
STREAMS_GOAL = {"inception_v3": 1.3, "nasnet_mobile": 1.5, "nasnet_large": 1.5}
# What outputs may be off by where a job names a precision and no bound (proto/wire/options.cc).
PRECISION_ERROR_MAX = {"tf32": 1e-3, "fp16": 1e-2, "bf16": 5e-2}
# Two jobs search apart from each other, and end with plans of nearly the same time.
POLICY_RATIO_MIN = 0.97
# What model:h200 is made with (optimizer/cost/devices/h200.cc).
KERNEL_US = 1.2
ASSUMED_GFLOP_PER_S = 60e3
ASSUMED_ROUNDED_TFLOP_PER_S = {"tf32": 400, "fp16": 700, "bf16": 700}
# Of memory, by the makers' data sheets.
DATA_SHEET_GB_PER_S = {"H200": 4800, "H100": 3350, "A100": 2039, "L40S": 864}
READ_RATE = ("memory_read_rate", 1 << 30)
PRODUCT_SHARE = 0.8
READ_SHARE = 0.9
SIDE_BY_SIDE_ERROR_MAX = 0.1
# How candidate_trial.cc says that results are wrong, and that those on a stream were right.
WRONG, IN_A_GRAPH = "wrong:", "in a graph:"

# Registers of generated kernels, by ptxas without a GPU, and the capabilities of its columns.
GENERATED_KERNELS = pathlib.Path(__file__).resolve().parents[2].joinpath(
    "optimizer/cost/generated_kernels.def")
COUNTED_CAPABILITIES = ("8.0", "8.9", "9.0")

RUN = "bench/gpu/run --out FOLDER"
JOBS = "bench/gpu/jobs.py --wheel WHEEL --out FOLDER/jobs.json"
PEERS = "bench/gpu/peers.py --out FOLDER/peers.json"


class Recorded:
    """A folder's files, as claims ask for them."""

    def __init__(self, folder):
        results = results_folder.Results(folder)
        self.profiles = [line for line in results.profiles if results_folder.is_timed(line)]
        # Candidates that computed something else, and were not timed.
        self.wrong = [line for line in results.profiles
                      if WRONG in (results_folder.failure_of(line) or "")]
        constants = results_folder.read_json(folder / "constants.json") or {}
        # Some names say by which kernel: "gemm_rate_strict by ...".
        self.constants = {(one["name"].split()[0], one["parameter"]): one["value"]
                          for one in constants.get("constants", [])}
        told = results_folder.read_json(folder / "jobs.json") or []
        # A simulated device has no times, and shows nothing of a GPU.
        self.jobs = [job for job in told if not job.get("device", {}).get("predicted")]
        self.peers = results_folder.read_json(folder / "peers.json") or {"entries": []}
        facts = results_folder.read_json(folder / "device.json") or {}
        self.side_by_side = [line for line in results.contention
                             if line.get("record") == "contention"]
        self.device = facts.get("name", "")
        self.conformance = facts.get("conformance")
        self.is_fake = facts.get("fake", False)
        self.capability = (facts.get("gpu") or {}).get("compute_cap")

    def constant(self, name, parameter=0):
        return self.constants.get((name, parameter))

    def ratios(self, models=None):
        """By model: the fastest peer's time over plait's, of the last job."""
        peers = recorded.fastest_peers(self.peers)
        jobs = recorded.strict_jobs(self.jobs)
        return {model: peers[model][0] / jobs[model]["optimized"]["latency_us_median"]
                for model in jobs if model in peers and (models is None or model in models)}

    def jobs_of(self, setting):
        """By model: the last one."""
        return {job["model"]: job for job in self.jobs if job.get("setting") == setting}

    def peer_names(self):
        return sorted({name for entry in self.peers["entries"]
                       for name, peer in entry["peers"].items() if peer.get("latency_us_median")})


def decided(holds, evidence):
    return (CONFIRMED if holds else REFUTED), evidence


def not_run(_):
    return NOT_RUN, ""


def of_constants(*names):
    """Decorates a judgement of constants, which are all there or nothing is said."""
    def wrap(judge):
        def judged(found):
            values = [found.constant(*name) for name in names]
            return (NOT_RUN, "") if None in values else judge(*values)
        return judged
    return wrap


def kernels_side_by_side(found):
    """Of those whose own profiles were recorded; the rest say nothing of the rule."""
    shares = {(line["graph"], line["variant"]): line for line in found.profiles
              if not line["cold_weights"] and line["latency_us_median"] > 0}
    read_gb_per_s = found.constant(*READ_RATE)
    if read_gb_per_s is None:
        return NOT_RUN, ""
    errors = []
    for line in found.side_by_side:
        profiles = [shares.get(key) for key in zip(line["graphs"], line["variants"])]
        if None in profiles:
            continue
        predicted_us = side_by_side.makespan_us(
            (us, (profile["compute_share"],
                  profile["bytes"] / us / 1e3 / read_gb_per_s))
            for us, profile in zip(line["alone_us"], profiles))
        errors.append(abs(predicted_us / line["makespan_us_median"] - 1))
    if not errors:
        return NOT_RUN, ""
    error = statistics.median(errors)
    return decided(error <= SIDE_BY_SIDE_ERROR_MAX,
                   f"{len(errors)} sets of kernels, median error {error:.2f}")


def conformance(found):
    said = found.conformance
    if said is None or said["kernels"] + said["kernel_failures"] == 0:
        return NOT_RUN, ""
    return decided(said["kernel_failures"] == 0,
                   f"{said['kernels']} kernels, {said['kernel_failures']} failures")


def graphs(found):
    said = found.conformance or {}
    if not said.get("graphs"):
        return NOT_RUN, ""
    return decided(said["graph_failures"] == 0,
                   f"{said['graphs']} graphs of {said['graph_edges']} edges, "
                   f"{said['graph_failures']} failures")


def sticky_error(found):
    held = (found.conformance or {}).get("sticky_error")
    return (NOT_RUN, "") if held is None else decided(held, "one kernel that writes to address 0")


@of_constants(("captured_crossing", 10), ("explicit_crossing", 10))
def copied_nodes(captured_us, explicit_us):
    return decided(abs(explicit_us / captured_us - 1) < 0.05,
                   f"{explicit_us:.2f} us as built, {captured_us:.2f} us as captured")


@of_constants(("graph_device_straight", 100), ("graph_device_branches4", 100))
def streams(straight_us, branches_us):
    return decided(straight_us / branches_us >= 1.3,
                   f"100 empty kernels: {straight_us:.1f} us in a chain, {branches_us:.1f} us in "
                   "four")


@of_constants(("pair_with_plain_edge", 20), ("pair_with_programmatic_edge", 20))
def programmatic(plain_us, programmatic_us):
    return decided(programmatic_us < plain_us,
                   f"a pair: {plain_us:.2f} us, {programmatic_us:.2f} us with the edge")


@of_constants(("gap_between_dependent_kernels",))
def gap(us):
    return decided(us <= KERNEL_US, f"{us:.2f} us")


def memory(found):
    read = found.constant(*READ_RATE)
    told = next((rate for name, rate in DATA_SHEET_GB_PER_S.items() if name in found.device), None)
    if read is None or told is None:
        return NOT_RUN, ""
    return decided(read >= READ_SHARE * told, f"{read:.0f} GB/s read of {told}")


@of_constants(("gemm_rate_strict", 4096))
def strict_products(gflops_per_s):
    return decided(gflops_per_s >= PRODUCT_SHARE * ASSUMED_GFLOP_PER_S,
                   f"{gflops_per_s / 1e3:.0f} TFLOP/s of {ASSUMED_GFLOP_PER_S / 1e3:.0f} assumed")


@of_constants(*((f"gemm_rate_{precision}", 4096) for precision in ASSUMED_ROUNDED_TFLOP_PER_S))
def rounded_products(*gflops_per_s):
    shares = [(rate / 1e3, *assumed)
              for rate, assumed in zip(gflops_per_s, ASSUMED_ROUNDED_TFLOP_PER_S.items())]
    return decided(all(rate >= PRODUCT_SHARE * assumed for rate, _, assumed in shares),
                   "TFLOP/s: " + ", ".join(f"{rate:.0f} of {assumed} in {precision}"
                                           for rate, precision, assumed in shares))


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


def equivalence(found):
    jobs = [job for job in found.jobs if job.get("setting") not in PRECISION_ERROR_MAX]
    if not jobs:
        return NOT_RUN, ""
    is_right, error = errors_of(jobs, JOB_ERROR_MAX)
    models = {job["model"] for job in jobs}
    return decided(is_right, f"{len(jobs)} jobs of {len(models)} models, error at most {error:.1e}")


def errors_of(jobs, error_max):
    """Whether all are right within that, and the largest error."""
    error = max(job["equivalence"]["max_rel_error"] for job in jobs)
    is_equal = all(job["equivalence"]["verdict"] == "equivalent" for job in jobs)
    return is_equal and error <= error_max, error


def no_host_nodes(found):
    if not found.jobs:
        return NOT_RUN, ""
    nodes = sum(job["optimized"]["fallback_nodes"] for job in found.jobs)
    return decided(nodes == 0, f"{nodes} nodes in {len(found.jobs)} jobs")


def never_slower(found):
    if not found.jobs:
        return NOT_RUN, ""
    lows = [job["speedup"][0] for job in found.jobs if job["optimized"]["origin"] != "baseline"]
    return decided(not lows or min(lows) >= 1,
                   f"the lowest bound of {len(lows)} jobs is {min(lows, default=1):.3f}; "
                   f"{len(found.jobs) - len(lows)} returned the original")


def over_peers(found):
    ratios = found.ratios()
    if not ratios:
        return NOT_RUN, ""
    mean = recorded.geometric_mean(list(ratios.values()))
    return decided(mean >= RATIO_GOAL,
                   f"{mean:.2f} of {len(ratios)} models, over {', '.join(found.peer_names())}")


def over_more_peers(found):
    missing = set(PEERS_BESIDE_TORCH) - set(found.peer_names())
    return (NOT_RUN, "") if missing else over_peers(found)


def over_peers_branched(found):
    return of_each_branched(found.ratios(BRANCHED), dict.fromkeys(BRANCHED, RATIO_GOAL_BRANCHED))


def of_each_branched(ratios, goals):
    """One below its goal refutes; nothing is confirmed before all have run."""
    told = ", ".join(f"{model} {ratio:.2f}" for model, ratio in sorted(ratios.items()))
    if any(ratio < goals[model] for model, ratio in ratios.items()):
        return REFUTED, told
    missing = [model for model in goals if model not in ratios]
    if missing:
        return NOT_RUN, f"{told}; without {', '.join(missing)}" if told else ""
    return CONFIRMED, told


def several_streams(found):
    one, several = found.jobs_of("sequential"), recorded.strict_jobs(found.jobs)
    ratios = {model: one[model]["optimized"]["latency_us_median"]
              / several[model]["optimized"]["latency_us_median"]
              for model in BRANCHED if model in one and model in several}
    return of_each_branched(ratios, STREAMS_GOAL)


def other_policies(found):
    """The default policy beside each other one, of the models that have both."""
    strict = recorded.strict_jobs(found.jobs)
    ratios = {f"{model} {policy}": job["optimized"]["latency_us_median"]
              / strict[model]["optimized"]["latency_us_median"]
              for policy in POLICIES for model, job in found.jobs_of(policy).items()
              if model in strict}
    missing = [policy for policy in POLICIES if not found.jobs_of(policy)]
    told = ", ".join(f"{name} {ratio:.2f}" for name, ratio in sorted(ratios.items()))
    if any(ratio < POLICY_RATIO_MIN for ratio in ratios.values()):
        return REFUTED, told
    if missing:
        return NOT_RUN, f"{told}; without {', '.join(missing)}" if told else ""
    return CONFIRMED, told


def of_jobs(setting, error_max):
    """A judgement of the jobs of a setting: their errors, and what they gained."""
    def judge(found):
        jobs = found.jobs_of(setting).values()
        if not jobs:
            return NOT_RUN, ""
        is_right, error = errors_of(jobs, error_max)
        gained = ", ".join(f"{job['model']} {job['speedup'][1]:.2f}" for job in jobs)
        return decided(is_right, f"error at most {error:.1e}; original / plait: {gained}")
    return judge


@dataclasses.dataclass(frozen=True)
class Claim:
    text: str
    judge: typing.Callable
    command: str


CLAIMS = (
    Claim("A plan in strict fp32 computes what the original does, relative to its largest output "
          f"within {JOB_ERROR_MAX:.0e}", equivalence, JOBS),
    Claim("A plan is not slower than the original on the same device", never_slower, JOBS),
    Claim("No node of the recorded models runs on the host", no_host_nodes, JOBS),
    Claim(f"Geometric mean of the fastest peer's time over plait's >= {RATIO_GOAL}", over_peers,
          f"{JOBS}; {PEERS}"),
    Claim(f"The same of Inception-v3 and each NasNet >= {RATIO_GOAL_BRANCHED}",
          over_peers_branched, f"{JOBS}; {PEERS}"),
    Claim("The same with torch.compile and jax among the peers", over_more_peers,
          f"{RUN} --steps peers,jobs"),
    Claim("TensorRT in fp32 takes as long as plait's file or longer", not_run,
          "trtexec --onnx=MODEL --noTF32 --useCudaGraph; plait bench FILE --device cuda:0"),
    Claim("Several streams over one: Inception-v3 >= 1.3, each NasNet >= 1.5", several_streams,
          f"{JOBS} --settings strict,sequential"),
    Claim("No other policy's plan is faster than the default's: time of each policy over that of "
          f"plait, at least {POLICY_RATIO_MIN}", other_policies,
          f"{JOBS} --settings strict,{','.join(POLICIES)}"),
    *(Claim(f"Plans in {setting} keep an error of {error_max:.0e}", of_jobs(setting, error_max),
            f"{JOBS} --settings {setting}") for setting, error_max in PRECISION_ERROR_MAX.items()),
    Claim("Plans at batch 8 are right", of_jobs("batch8", JOB_ERROR_MAX),
          f"{JOBS} --settings batch8"),
    *(Claim(f"Each candidate's relative L2 error in {precision} <= {error_max:.0e}",
            kernel_errors(precision), f"{RUN} --steps seeds,rest")
      for precision, error_max in KERNEL_ERROR_MAX.items()),
    Claim("Every generated kernel of the conformance cases is right, writes nothing beside its "
          "outputs, and gives the same bits in a graph", conformance, f"{RUN} --steps conformance"),
    Claim("A graph has the nodes and edges on the driver that it has on the simulated device, and "
          "every replay the same bits", graphs, f"{RUN} --steps conformance"),
    Claim("A graph that is built node by node takes as long as the same captured (kernels of "
          "plait's own)", copied_nodes, f"{RUN} --steps constants"),
    Claim("What cuDNN and cuBLASLt enqueue can be captured, and copies of the nodes compute the "
          "same in a plan's graph", library_nodes, f"{RUN} --steps seeds,jobs"),
    Claim("Of kernels that are ready at once, that with the higher priority starts first", not_run,
          "nsys profile plait bench FILE --device cuda:0"),
    Claim("The clock and what limits it are told of while kernels are timed", not_run,
          "plait bench FILE --device cuda:0 2>&1 | grep MHz"),
    Claim("Chains of one graph run beside each other", streams, f"{RUN} --steps constants"),
    Claim("A programmatic edge brings the second kernel forward", programmatic,
          f"{RUN} --steps constants"),
    Claim(f"Between dependent kernels of a graph lie less than the {KERNEL_US} us that model:h200 "
          "gives a kernel", gap, f"{RUN} --steps constants"),
    Claim(f"Memory is read at {READ_SHARE:.0%} of its data sheet's rate", memory,
          f"{RUN} --steps constants"),
    Claim("A large product in strict fp32 reaches 80 % of what model:h200 assumes",
          strict_products, f"{RUN} --steps constants"),
    Claim("The same of libraries' products in tf32, fp16 and bf16", rounded_products,
          f"{RUN} --steps constants"),
    Claim("The machine code of a generated kernel takes no more registers than ptxas gave its "
          "variant without a GPU (optimizer/cost/generated_kernels.def)", registers_taken,
          f"{RUN} --steps seeds,rest"),
    Claim("What kernels take from each other is as the simulator says, median error <= "
          f"{SIDE_BY_SIDE_ERROR_MAX}", kernels_side_by_side,
          f"{RUN} --steps constants,seeds,contention"),
    Claim("After an illegal access the driver reports an error to every later call, by which a "
          "worker ends with exit code 10, and the next process works", sticky_error,
          f"{RUN} --steps conformance"),
    Claim("Generated kernels cause the memory traffic that the simulated device counts",
          not_run, "ncu plait bench MODEL --device cuda:0"),
)


def table(found):
    """A row for each claim: it, how it stands, by which figure, and the command. What a fake or a
    simulated device has done says nothing."""
    judged = (not_run if found.is_fake else claim.judge for claim in CLAIMS)
    return [["claim", "stands", "evidence", "settled by"],
            *([claim.text, *judge(found), claim.command] for claim, judge in zip(CLAIMS, judged))]


def text_of(folder, found):
    head, *rows = table(found)
    counts = {status: sum(row[1] == status for row in rows)
              for status in (CONFIRMED, REFUTED, NOT_RUN)}
    rows = [head] + [[*row[:-1], f"`{row[-1]}`"] for row in rows]
    told = ", ".join(f"{count} {status}" for status, count in counts.items())
    name = re.sub(r".*/(?=bench/)", "", str(folder.resolve()))
    return (f"# What a GPU has shown\n\n"
            f"Most of the CUDA backend can be checked without a GPU, and is. What cannot is listed "
            f"here, with what an\n{found.device} said (`{name}`): {told}. Made by\n"
            f"`bench/gpu/claims.py {name}`.\n\n{markdown_table(rows)}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=pathlib.Path)
    folder = parser.parse_args().folder
    print(text_of(folder, Recorded(folder)), end="")


if __name__ == "__main__":
    main()
