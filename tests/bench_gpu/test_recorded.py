"""What is said of a recorded folder: figures that code and CHANGELOG quote, from its files."""

import pathlib
import subprocess
import sys

import pytest

import recorded

H200 = pathlib.Path(recorded.__file__).parents[1] / "results/gpu/nvidia-h200/2026-11-26"

RECORDS = [
    {"problem": "elementwise [relu(x0)] 1 64 nchw",
     "us": {"generated/elementwise/v4": 3.0, "generated/elementwise/v2": 2.0},
     "finalist_us": {"generated/elementwise/v4": 1.5, "generated/elementwise/v2": 1.0}},
    {"problem": "elementwise [relu(x0)] 1024 1024 nchw",
     "us": {"generated/elementwise/v4": 4.0, "generated/elementwise/v2": 9.0}},
    {"problem": "pool nchw", "us": {"cudnn/eng1": 3.0, "generated/pool/window/v1": 2.0}},
    {"problem": "conv n1 c8 h8 w8 k8 r3x3 st1 g8 nhwc", "us": {"generated/depthwise/v1/p1": 1.0}},
    {"problem": "conv n1 c8 h8 w8 k8 r1x1 st1 g1 nhwc", "us": {"cudnn/eng0": 3.0}},
    {"problem": "separable_conv n1 c8 h8 w8 k8 r3x3 st1 g8 K8 nhwc",
     "us": {"generated/separable/p16/k64": 6.0}}]


def test_times_in_turns_count_before_quick_ones():
    rows = recorded.forms_table(RECORDS, "elementwise")[1:]
    assert rows == [["elementwise/v2", 2, 1, "2.000"], ["elementwise/v4", 2, 1, "1.100"]]
    # Short vectors for the small one, long ones for the large one: the best of each.
    assert recorded.listed_elementwise_ratio(RECORDS) == 1


def test_libraries_and_halves():
    assert recorded.library_pool_ratios(RECORDS) == [1.5]
    # Four blocks of 16 pixels for 8 channels.
    assert recorded.separable_ratios(RECORDS) == ([1.5], [])


def test_the_last_job_of_a_model_counts():
    def job(us, time_utc):
        return {"model": "m", "baseline": {"latency_us_median": 9}, "time_utc": time_utc,
                "optimized": {"latency_us_median": us, "origin": "searched"},
                "equivalence": {"max_rel_error": 1e-7}}
    peers = recorded.fastest_peers({"entries": [
        {"model": "m", "time_utc": "08:00",
         "peers": {"a": {"latency_us_median": 8}, "b": {"latency_us_median": 6},
                   "c": {"failure": "none"}}}]})
    rows, ratios = recorded.jobs_table([job(4, "08:00"), job(3, "09:00")], peers)
    assert rows[1] == ["m", "9", "3", "searched", "1.0e-07", "6 (b)", "2.00", "no"]
    assert ratios == [2]


def test_a_job_and_its_peers_are_of_one_call_or_not():
    job = {"model": "m", "baseline": {"latency_us_median": 9}, "time_utc": "08:01", "call": "first",
           "optimized": {"latency_us_median": 3, "origin": "searched"},
           "equivalence": {"max_rel_error": 1e-7}}
    for call, told in (("first", "yes"), ("second", "no"), ("", "no")):
        peers = recorded.fastest_peers({"entries": [
            {"model": "m", "call": call, "peers": {"a": {"latency_us_median": 8}}}]})
        assert recorded.jobs_table([job], peers)[0][1][-1] == told


@pytest.mark.parametrize("line", [
    "Geometric mean of 10: 1.75", "| separable/p16/k64 | 228 | 226 | 1.000 |",
    "- the elementwise form that is listed / best: 1.008",
    "- cuDNN's pools / ours: 42 problems, 1.23 to 2.50",
    "- fused separable / halves apart, fewer than two blocks a channel: 128 problems, 1.04 to 5.51",
    "- the same, others: 100 problems, 0.57 to 1.58"])
def test_what_is_quoted_of_an_h200(line):
    said = subprocess.run([sys.executable, recorded.__file__, H200], check=True,
                          capture_output=True, text=True).stdout
    assert line in said.splitlines()
