"""Judgements of what a folder has of the device itself: constants, and the suite of conformance."""

import statistics

import side_by_side
from judgements import NOT_RUN, decided, of_constants

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
