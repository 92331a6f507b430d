"""Judgements of the jobs that a folder has, alone and beside the peers."""

import recorded
from jobs import POLICIES
from judgements import CONFIRMED, NOT_RUN, REFUTED, decided

# The bound of a strict job.
JOB_ERROR_MAX = 1e-4
RATIO_GOAL, RATIO_GOAL_BRANCHED = 1.10, 1.4
PEERS_BESIDE_TORCH = ("compile", "jax")
BRANCHED = ("inception_v3", "nasnet_mobile", "nasnet_large")
STREAMS_GOAL = {"inception_v3": 1.3, "nasnet_mobile": 1.5, "nasnet_large": 1.5}
# What outputs may be off by where a job names a precision and no bound (proto/wire/options.cc).
PRECISION_ERROR_MAX = {"tf32": 1e-3, "fp16": 1e-2, "bf16": 5e-2}
# Two jobs search apart from each other, and end with plans of nearly the same time.
POLICY_RATIO_MIN = 0.97


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


def in_setting(setting, error_max):
    """A judgement of the jobs of a setting: their errors, and what they gained."""
    def judge(found):
        jobs = found.jobs_of(setting).values()
        if not jobs:
            return NOT_RUN, ""
        is_right, error = errors_of(jobs, error_max)
        gained = ", ".join(f"{job['model']} {job['speedup'][1]:.2f}" for job in jobs)
        return decided(is_right, f"error at most {error:.1e}; original / plait: {gained}")
    return judge
