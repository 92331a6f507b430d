#!/usr/bin/env python3
"""What plait says of a GPU that only a GPU can show, and what a recorded folder says to it.

    bench/gpu/claims.py bench/results/gpu/nvidia-h200/2026-11-26 > docs/gpu-claims.md

Each claim is confirmed, refuted, or not run on a GPU, with the figure that decides it and the
command that settles it.
"""

import argparse
import dataclasses
import pathlib
import re
import typing

import judgements_of_device as of_device
import judgements_of_jobs as of_jobs
import judgements_of_kernels as of_kernels
from jobs import POLICIES
from judgements import CONFIRMED, NOT_RUN, REFUTED, Recorded, not_run
from results_folder import markdown_table

RUN = "bench/gpu/run --out FOLDER"
JOBS = "bench/gpu/jobs.py --wheel WHEEL --out FOLDER/jobs.json"
PEERS = "bench/gpu/peers.py --out FOLDER/peers.json"


@dataclasses.dataclass(frozen=True)
class Claim:
    text: str
    judge: typing.Callable
    command: str


CLAIMS = (
    Claim("A plan in strict fp32 computes what the original does, relative to its largest output "
          f"within {of_jobs.JOB_ERROR_MAX:.0e}", of_jobs.equivalence, JOBS),
    Claim("A plan is not slower than the original on the same device", of_jobs.never_slower,
          JOBS),
    Claim("No node of the recorded models runs on the host", of_jobs.no_host_nodes, JOBS),
    Claim(f"Geometric mean of the fastest peer's time over plait's >= {of_jobs.RATIO_GOAL}",
          of_jobs.over_peers, f"{JOBS}; {PEERS}"),
    Claim(f"The same of Inception-v3 and each NasNet >= {of_jobs.RATIO_GOAL_BRANCHED}",
          of_jobs.over_peers_branched, f"{JOBS}; {PEERS}"),
    Claim("The same with torch.compile and jax among the peers", of_jobs.over_more_peers,
          f"{RUN} --steps peers,jobs"),
    Claim("TensorRT in fp32 takes as long as plait's file or longer", not_run,
          "trtexec --onnx=MODEL --noTF32 --useCudaGraph; plait bench FILE --device cuda:0"),
    Claim("Several streams over one: Inception-v3 >= 1.3, each NasNet >= 1.5",
          of_jobs.several_streams, f"{JOBS} --settings strict,sequential"),
    Claim("No other policy's plan is faster than the default's: time of each policy over that of "
          f"plait, at least {of_jobs.POLICY_RATIO_MIN}", of_jobs.other_policies,
          f"{JOBS} --settings strict,{','.join(POLICIES)}"),
    *(Claim(f"Plans in {setting} keep an error of {error_max:.0e}",
            of_jobs.in_setting(setting, error_max), f"{JOBS} --settings {setting}")
      for setting, error_max in of_jobs.PRECISION_ERROR_MAX.items()),
    Claim("Plans at batch 8 are right", of_jobs.in_setting("batch8", of_jobs.JOB_ERROR_MAX),
          f"{JOBS} --settings batch8"),
    *(Claim(f"Each candidate's relative L2 error in {precision} <= {error_max:.0e}",
            of_kernels.kernel_errors(precision), f"{RUN} --steps seeds,rest")
      for precision, error_max in of_kernels.KERNEL_ERROR_MAX.items()),
    Claim("Every generated kernel of the conformance cases is right, writes nothing beside its "
          "outputs, and gives the same bits in a graph", of_device.conformance,
          f"{RUN} --steps conformance"),
    Claim("A graph has the nodes and edges on the driver that it has on the simulated device, and "
          "every replay the same bits", of_device.graphs, f"{RUN} --steps conformance"),
    Claim("A graph that is built node by node takes as long as the same captured (kernels of "
          "plait's own)", of_device.copied_nodes, f"{RUN} --steps constants"),
    Claim("What cuDNN and cuBLASLt enqueue can be captured, and copies of the nodes compute the "
          "same in a plan's graph", of_kernels.library_nodes, f"{RUN} --steps seeds,jobs"),
    Claim("Of kernels that are ready at once, that with the higher priority starts first", not_run,
          "nsys profile plait bench FILE --device cuda:0"),
    Claim("The clock and what limits it are told of while kernels are timed", not_run,
          "plait bench FILE --device cuda:0 2>&1 | grep MHz"),
    Claim("Chains of one graph run beside each other", of_device.streams,
          f"{RUN} --steps constants"),
    Claim("A programmatic edge brings the second kernel forward", of_device.programmatic,
          f"{RUN} --steps constants"),
    Claim(f"Between dependent kernels of a graph lie less than the {of_device.KERNEL_US} us that "
          "model:h200 gives a kernel", of_device.gap, f"{RUN} --steps constants"),
    Claim(f"Memory is read at {of_device.READ_SHARE:.0%} of its data sheet's rate",
          of_device.memory, f"{RUN} --steps constants"),
    Claim("A large product in strict fp32 reaches 80 % of what model:h200 assumes",
          of_device.strict_products, f"{RUN} --steps constants"),
    Claim("The same of libraries' products in tf32, fp16 and bf16", of_device.rounded_products,
          f"{RUN} --steps constants"),
    Claim("The machine code of a generated kernel takes no more registers than ptxas gave its "
          "variant without a GPU (optimizer/cost/generated_kernels.def)",
          of_kernels.registers_taken, f"{RUN} --steps seeds,rest"),
    Claim("What kernels take from each other is as the simulator says, median error <= "
          f"{of_device.SIDE_BY_SIDE_ERROR_MAX}", of_device.kernels_side_by_side,
          f"{RUN} --steps constants,seeds,contention"),
    Claim("After an illegal access the driver reports an error to every later call, by which a "
          "worker ends with exit code 10, and the next process works", of_device.sticky_error,
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
