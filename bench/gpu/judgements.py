"""What judges a claim on a GPU: a recorded folder, and what a judgement says."""

import recorded
import results_folder

CONFIRMED, REFUTED, NOT_RUN = "confirmed", "refuted", "not run on a GPU"

# How candidate_trial.cc says that results are wrong.
WRONG = "wrong:"


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
