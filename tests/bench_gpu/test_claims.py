"""What is said to have been shown on a GPU follows from the recorded files."""

import json
import pathlib
import runpy
import shlex
import subprocess
import sys

import claims
import jobs
import judgements_of_device as of_device
import judgements_of_jobs as of_jobs
import judgements_of_kernels as of_kernels
import peers
import side_by_side

ROOT = pathlib.Path(claims.__file__).parents[2]
H200 = ROOT / "bench/results/gpu/nvidia-h200/2026-11-26"


def standings(folder):
    return {row[0]: row[1] for row in claims.table(claims.Recorded(folder))[1:]}


def folder_with(folder, **files):
    for name, content in files.items():
        (folder / f"{name}.json").write_text(json.dumps(content))
    return folder


def job(model, us, origin="searched", low=1.1, verdict="equivalent"):
    return {"model": model, "baseline": {"latency_us_median": 10},
            "optimized": {"latency_us_median": us, "origin": origin, "fallback_nodes": 0},
            "speedup": [low, low, low],
            "equivalence": {"verdict": verdict, "max_rel_error": 1e-6}}


def peers_of(**models):
    return {"entries": [{"model": model, "peers": {"cuda_graph": {"latency_us_median": us}}}
                        for model, us in models.items()]}


def test_nothing_is_claimed_of_an_empty_folder(tmp_path):
    assert set(standings(tmp_path).values()) == {claims.NOT_RUN}


def test_the_page_is_of_the_recorded_folder():
    said = subprocess.run([sys.executable, claims.__file__, H200], check=True,
                          capture_output=True, text=True).stdout
    assert (ROOT / "docs" / "gpu-claims.md").read_text() == said


def test_the_programs_understand_the_commands(monkeypatch):
    run = runpy.run_path(str(ROOT / "bench/gpu/run"))
    parsers = {"bench/gpu/run": run["parse"], "bench/gpu/jobs.py": jobs.parse,
               "bench/gpu/peers.py": peers.parse}
    understood = 0
    for command in {part for claim in claims.CLAIMS for part in claim.command.split("; ")}:
        program, *_ = words = shlex.split(command)
        if program in parsers:
            monkeypatch.setattr(sys, "argv", words)
            parsers[program]()
            understood += 1
    assert understood > len(parsers)


def test_each_way_a_job_can_refute(tmp_path):
    right = [job("m", 5), job("n", 10, "baseline", low=1)]
    found = standings(folder_with(tmp_path, jobs=right))
    assert list(found.values())[:3] == [claims.CONFIRMED] * 3
    for wrong, place in ((job("m", 5, verdict="different"), 0), (job("m", 5, low=0.99), 1)):
        found = standings(folder_with(tmp_path, jobs=[wrong]))
        assert list(found.values())[place] == claims.REFUTED


def test_what_is_predicted_shows_nothing(tmp_path):
    simulated = {**job("m", None), "device": {"predicted": True}, "speedup": [None, 1.5, None]}
    assert set(standings(folder_with(tmp_path, jobs=[simulated])).values()) == {claims.NOT_RUN}


def test_a_fake_device_shows_nothing(tmp_path):
    folder_with(tmp_path, jobs=[job("m", 5)], device={"fake": True})
    assert set(standings(tmp_path).values()) == {claims.NOT_RUN}


def test_every_policy_has_to_be_there(tmp_path):
    jobs = [job("inception_v3", 10), {**job("inception_v3", 12), "setting": "nimble"}]
    told = of_jobs.other_policies(claims.Recorded(folder_with(tmp_path, jobs=jobs)))
    assert told[0] == claims.NOT_RUN and told[1].startswith("inception_v3 nimble 1.20; without")
    jobs += [{**job("inception_v3", 10), "setting": policy} for policy in claims.POLICIES]
    found = claims.Recorded(folder_with(tmp_path, jobs=jobs))
    assert of_jobs.other_policies(found)[0] == claims.CONFIRMED
    jobs[-1] = {**job("inception_v3", 9), "setting": claims.POLICIES[-1]}
    found = claims.Recorded(folder_with(tmp_path, jobs=jobs))
    assert of_jobs.other_policies(found)[0] == claims.REFUTED


def test_ratios_are_those_of_models_with_a_peer(tmp_path):
    jobs = [job("inception_v3", 5), job("nasnet_mobile", 5), job("m", 1)]
    recorded = claims.Recorded(folder_with(
        tmp_path, jobs=jobs, peers=peers_of(inception_v3=6, nasnet_mobile=10)))
    assert recorded.ratios() == {"inception_v3": 1.2, "nasnet_mobile": 2}
    assert of_jobs.over_peers(recorded)[0] == claims.CONFIRMED
    assert of_jobs.over_peers_branched(recorded) == (
        claims.REFUTED, "inception_v3 1.20, nasnet_mobile 2.00")
    # What is claimed of each is not confirmed by some.
    goals = {"a": 1.4, "b": 1.4}
    assert of_jobs.of_each_branched({"a": 2}, goals) == (claims.NOT_RUN, "a 2.00; without b")
    assert of_jobs.of_each_branched({"a": 2, "b": 1.5}, goals)[0] == claims.CONFIRMED
    assert of_jobs.of_each_branched({}, goals) == (claims.NOT_RUN, "")


def test_constants_decide_only_together(tmp_path):
    def constants(**values):
        return {"constants": [{"name": f"{name} by kernel", "parameter": 100, "value": value}
                              for name, value in values.items()]}
    found = claims.Recorded(folder_with(tmp_path, constants=constants(graph_device_straight=52)))
    assert of_device.streams(found) == (claims.NOT_RUN, "")
    found = claims.Recorded(folder_with(
        tmp_path, constants=constants(graph_device_straight=52, graph_device_branches4=25)))
    assert of_device.streams(found)[0] == claims.CONFIRMED
    found = claims.Recorded(folder_with(
        tmp_path, constants=constants(graph_device_straight=52, graph_device_branches4=50)))
    assert of_device.streams(found)[0] == claims.REFUTED


def test_products_of_libraries_are_judged_together(tmp_path):
    def rates(**gflops_per_s):
        return {"constants": [
            {"name": f"gemm_rate_{precision} by cublaslt", "parameter": 4096, "value": rate}
            for precision, rate in gflops_per_s.items()]}
    for rate, stands in ((600e3, claims.CONFIRMED), (500e3, claims.REFUTED)):
        found = claims.Recorded(folder_with(
            tmp_path, constants=rates(tf32=400e3, fp16=700e3, bf16=rate)))
        assert of_device.rounded_products(found) == (
            stands,
            f"TFLOP/s: 400 of 400 in tf32, 700 of 700 in fp16, {rate / 1e3:.0f} of 700 in bf16")
    found = claims.Recorded(folder_with(tmp_path, constants=rates(tf32=400e3, fp16=700e3)))
    assert of_device.rounded_products(found) == (claims.NOT_RUN, "")


def test_registers_are_those_of_the_list(tmp_path, monkeypatch):
    monkeypatch.setattr(of_kernels, "GENERATED_KERNELS", tmp_path / "kernels.def")
    of_kernels.GENERATED_KERNELS.write_text("""// PLAIT_GENERATED_KERNEL(family, variant, ...)
PLAIT_GENERATED_KERNEL(pool, "window/v1", 256, 0, 30, 31, 32)
PLAIT_GENERATED_KERNEL(rows, "t32/v4", 128, 256, 40, 41, 42)
""")

    def standing(capability, **taken):
        found = claims.Recorded(folder_with(tmp_path, device={"gpu": {"compute_cap": capability}}))
        found.profiles = [
            {**profile("a", 10, 1), "precision": "strict", "kernel_registers": [8, count],
             "variant": f"strict/nchw/generated/{name.replace('_', '/')}"}
            for name, count in taken.items()]
        return of_kernels.registers_taken(found)

    both = {"pool_window_v1": 32, "rows_t32_v4": 42}
    assert standing("9.0", **both) == (claims.CONFIRMED, "2 of 2 variants")
    assert standing("8.0", **both) == (
        claims.REFUTED, "2 of 2 variants, pool/window/v1 32 of 30, rows/t32/v4 42 of 40")
    assert standing("9.0", pool_window_v1=32) == (claims.NOT_RUN, "1 of 2 variants")
    assert standing("9.0", pool_window_v1=33)[0] == claims.REFUTED
    assert standing("9.0", pool_other_v1=33) == standing("7.5", **both) == (claims.NOT_RUN, "")


def profile(graph, us, share):
    return {"record": "profile", "graph": graph, "variant": "v", "cold_weights": False,
            "latency_us_median": us, "compute_share": share, "bytes": 0}


def test_errors_of_candidates_are_judged_by_precision():
    found = claims.Recorded(pathlib.Path("/nowhere"))
    found.profiles = [{**profile("a", 10, 1), "precision": "tf32", "relative_l2": 5e-4}]
    assert of_kernels.kernel_errors("strict")(found) == (claims.NOT_RUN, "")
    assert of_kernels.kernel_errors("tf32")(found) == (claims.CONFIRMED,
                                                   "1 candidates, the largest 5.0e-04")
    # With cold weights it is the same candidate.
    found.profiles.append({**found.profiles[0], "cold_weights": True})
    assert of_kernels.kernel_errors("tf32")(found)[1] == "1 candidates, the largest 5.0e-04"
    found.profiles[0]["precision"] = "strict"
    assert of_kernels.kernel_errors("strict")(found)[0] == claims.REFUTED


LIBRARYS = "strict/nchw/cublaslt/algo13"


def folder_with_failure(folder, reason, variant=LIBRARYS):
    """A candidate of a library that is right, another one that failed, and a job that is right."""
    graph = {"kernel": 0, "family": "matmul", "graph": "graph {}", "flops": 1}
    right = {"kernel": 0, **profile("graph {}", 10, 1), "variant": "strict/nchw/cublaslt/algo1",
             "precision": "strict", "relative_l2": 1e-7, "kernel_names": ["its"]}
    del right["graph"]
    failed = {"kernel": 0, "record": "failure", "precision": "strict", "variant": variant,
              "failure": reason}
    (folder / "kernels.jsonl").write_text(json.dumps(graph) + "\n")
    (folder / "profiles.jsonl").write_text(f"{json.dumps(right)}\n{json.dumps(failed)}\n")
    return claims.Recorded(folder_with(folder, jobs=[job("m", 5)]))


def test_a_candidate_that_failed_because_it_was_wrong_refutes(tmp_path):
    wrong = "wrong: relative L2 0.0926 of 1e-05, largest error 0.998 of 0.0001"
    found = folder_with_failure(tmp_path, f"in a graph: {wrong}")
    assert of_kernels.kernel_errors("strict")(found) == (
        claims.REFUTED, f"2 candidates, 1 wrong ({LIBRARYS}), the largest 9.3e-02")
    assert of_kernels.kernel_errors("tf32")(found) == (claims.NOT_RUN, "")
    assert of_kernels.library_nodes(found) == (
        claims.REFUTED,
        f"2 candidates captured, 1 wrong in a graph ({LIBRARYS}), error at most 9.3e-02")
    # On a stream, or of plait's own: that says nothing of nodes of libraries.
    for reason, variant in ((wrong, LIBRARYS), (f"in a graph: {wrong}", "strict/nchw/generated/a")):
        found = folder_with_failure(tmp_path, reason, variant)
        assert of_kernels.kernel_errors("strict")(found)[0] == claims.REFUTED
        assert of_kernels.library_nodes(found)[0] == claims.CONFIRMED
    found = folder_with_failure(tmp_path, "wrong: 3 outputs are NaN or unwritten")
    assert of_kernels.kernel_errors("strict")(found)[1].endswith("the largest inf")


def test_a_candidate_that_failed_otherwise_refutes_nothing(tmp_path):
    found = folder_with_failure(tmp_path, "workspace of 2055925760 bytes")
    assert of_kernels.kernel_errors("strict")(found)[0] == claims.CONFIRMED
    assert of_kernels.library_nodes(found)[0] == claims.CONFIRMED


def test_nodes_of_libraries_are_judged_by_candidates_and_by_plans(tmp_path):
    found = claims.Recorded(folder_with(tmp_path, jobs=[job("m", 5)]))
    own = {**profile("a", 10, 1), "variant": "strict/nchw/generated/c", "kernel_names": ["own"]}
    found.profiles = [own]
    assert of_kernels.library_nodes(found)[0] == claims.NOT_RUN
    found.profiles.append({**own, "variant": "strict/nchw/cublaslt/algo1"})
    assert of_kernels.library_nodes(found) == (
        claims.CONFIRMED, "1 candidates captured; 1 jobs of 1 models, error at most 1.0e-06")
    found.jobs[0]["equivalence"]["verdict"] = "different"
    assert of_kernels.library_nodes(found)[0] == claims.REFUTED


def test_all_peers_are_those_that_were_asked_for(tmp_path):
    peers = {"entries": [{"model": "m", "peers": {
        name: {"latency_us_median": us} for name, us in
        (("cuda_graph", 20), ("compile", 12), ("jax", 30))}}]}
    found = claims.Recorded(folder_with(tmp_path, jobs=[job("m", 10)], peers=peers))
    assert of_jobs.over_more_peers(found) == (
        claims.CONFIRMED, "1.20 of 1 models, over compile, cuda_graph, jax")
    del peers["entries"][0]["peers"]["jax"]
    found = claims.Recorded(folder_with(tmp_path, jobs=[job("m", 10)], peers=peers))
    assert of_jobs.over_more_peers(found) == (claims.NOT_RUN, "")


def pair(together_us):
    return {"record": "contention", "graphs": ["a", "b"], "variants": ["v", "v"],
            "alone_us": [10, 4], "makespan_us_median": together_us}


def test_kernels_side_by_side_share_the_device():
    both = [(10, (0.75,)), (4, (0.75,))]
    assert side_by_side.makespan_us(both) == 12
    assert side_by_side.makespan_us([(10, (0.5,)), (4, (0.5,))]) == 10
    # The scarcer resource decides.
    assert side_by_side.makespan_us([(10, (0.1, 1)), (10, (0.1, 1))]) == 20
    assert side_by_side.makespan_us([]) == 0


def test_contention_is_judged_by_kernels_with_profiles():
    found = claims.Recorded(pathlib.Path("/nowhere"))
    assert of_device.kernels_side_by_side(found)[0] == claims.NOT_RUN
    found.side_by_side = [pair(12.5)]
    found.constants = {of_device.READ_RATE: 4000}
    assert of_device.kernels_side_by_side(found)[0] == claims.NOT_RUN
    found.profiles = [profile("a", 10, 0.75), profile("b", 4, 0.75)]
    assert of_device.kernels_side_by_side(found) == (claims.CONFIRMED,
                                                  "1 sets of kernels, median error 0.04")
    found.side_by_side = [pair(20)]
    assert of_device.kernels_side_by_side(found)[0] == claims.REFUTED
