#include <algorithm>
#include <cstdio>
#include <utility>

#include "bench/gpu/candidate_trial.h"
#include "bench/gpu/kernel_list.h"
#include "bench/gpu/line_file.h"
#include "bench/gpu/options.h"
#include "bench/gpu/profile_line.h"
#include "bench/gpu/session.h"
#include "bench/gpu/supervisor.h"

namespace plait::cuda {
namespace {

constexpr size_t kFinalists = 8;
constexpr int kRounds = 3;
constexpr int kSamplesPerRoundMax = 5;
constexpr double kRoundUsMax = 4000;  // of one finalist, warm: slow kernels get fewer samples
// Each takes about a second to build; they rarely win where precompiled ones exist.
constexpr int kRuntimeCompiledMax = 3;

// Records jobs until the time is over. One per worker process.
class KernelRecorder {
 public:
  KernelRecorder(const Options& options, Session* session, LineFile* out, Attempt* attempt)
      : options_(options),
        session_(session),
        out_(out),
        attempt_(attempt),
        fingerprint_(session->fingerprint()),
        recorded_(ReadRecorded(options.out, fingerprint_)) {}

  // Returns the exit status: 0, 1 or kRestart.
  int Run(const std::vector<Job>& jobs) {
    int done = 0;
    for (const Job& job : jobs) {
      if (recorded_.jobs.contains(JobId(job))) continue;
      if (StopRequested() || PastDeadline(options_)) break;
      const int status = RecordJob(job);
      if (status != 0) return status;
      ++done;
    }
    std::printf("kernels: %d of %zu jobs recorded in this run, %d candidates timed, %d failed\n",
                done, jobs.size(), timed_, failed_);
    return 0;
  }

 private:
  bool Stopping() const { return StopRequested() || PastDeadline(options_); }

  int Write(const std::string& line) {
    const Status written = out_->Write(line);
    if (written.ok()) return 0;
    std::fprintf(stderr, "%s\n", written.error().message.c_str());
    return 1;
  }

  // Records what failed. A broken context needs another process.
  int Fail(const Job& job, const std::string& candidate, const Error& error) {
    ++failed_;
    const int written = Write(FailureLine(fingerprint_, job, candidate, error.message));
    if (written != 0) return written;
    if (error.code != ErrorCode::kDevice || session_->runtime().CheckHealth().ok()) return 0;
    std::fprintf(stderr, "%s: sticky error, starting again\n", candidate.c_str());
    return kRestart;
  }

  int RecordJob(const Job& job) {
    attempt_->Begin(DoneLine(fingerprint_, job, 0, {"the process died while preparing"}));
    const size_t mark = session_->mark();
    const int status = RecordCandidates(job);
    session_->Release(mark);
    attempt_->Begin("");
    return status;
  }

  int RecordCandidates(const Job& job) {
    Session::Listing listing = session_->Enumerate(job.kernel->problem, job.precision, job.layout);
    if (listing.candidates.empty()) return Write(DoneLine(fingerprint_, job, 0, listing.errors));
    Result<Bench> bench = PrepareBench(session_, job, kReplays);
    if (!bench.ok()) {
      listing.errors.push_back(bench.error().message);
      const int failed = Fail(job, "operands", bench.error());
      return failed != 0 ? failed : Write(DoneLine(fingerprint_, job, 0, listing.errors));
    }
    std::vector<Trial> trials;
    int status = TryAll(job, listing, &bench.value(), &trials);
    if (status != 0 || Stopping()) return status;
    status = TimeFinalists(job, &bench.value(), trials);
    if (status != 0 || Stopping()) return status;
    return Write(
        DoneLine(fingerprint_, job, static_cast<int>(listing.candidates.size()), listing.errors));
  }

  // The quick pass.
  int TryAll(const Job& job, const Session::Listing& listing, Bench* bench,
             std::vector<Trial>* trials) {
    const std::vector<Status> prepared = PrepareInParallel(listing.candidates);
    int runtime_compiled = 0;
    for (size_t i = 0; i < listing.candidates.size() && !Stopping(); ++i) {
      Candidate& candidate = *listing.candidates[i];
      if (recorded_.failures.contains(JobId(job) + "\t" + job.variant(candidate.name()))) continue;
      if (IsRuntimeCompiled(candidate) && ++runtime_compiled > kRuntimeCompiledMax) continue;
      attempt_->Begin(FailureLine(fingerprint_, job, candidate.name(),
                                  "the process died or hung in this candidate"));
      Result<Trial> trial = RunTrial(session_, job, bench, &candidate, prepared[i]);
      if (trial.ok()) {
        trials->push_back(std::move(trial).value());
        continue;
      }
      const int status = Fail(job, candidate.name(), trial.error());
      if (status != 0) return status;
    }
    return 0;
  }

  // The best of the quick pass, and the library's own first guess.
  static std::vector<const Trial*> Finalists(const std::vector<Trial>& trials) {
    std::vector<const Trial*> finalists;
    for (const Trial& trial : trials) finalists.push_back(&trial);
    std::sort(finalists.begin(), finalists.end(),
              [](const Trial* a, const Trial* b) { return a->quick_us < b->quick_us; });
    if (finalists.size() > kFinalists) {
      finalists.resize(kFinalists);
      const Trial* first = &trials.front();
      if (std::find(finalists.begin(), finalists.end(), first) == finalists.end()) {
        finalists.push_back(first);
      }
    }
    return finalists;
  }

  struct Samples {
    std::vector<double> us;
    ClockSeen clock;
  };
  struct Final {
    const Trial* trial;
    FinalGraphs graphs;
    Samples warm, cold;
  };

  int TimeFinalists(const Job& job, Bench* bench, const std::vector<Trial>& trials) {
    if (trials.empty()) return 0;
    std::vector<Final> finals;
    for (const Trial* trial : Finalists(trials)) {
      attempt_->Begin(FailureLine(fingerprint_, job, trial->finding.candidate,
                                  "the process died or hung while building the graphs"));
      Result<FinalGraphs> graphs = BuildFinal(session_, job, bench, *trial);
      if (graphs.ok()) {
        finals.push_back({trial, std::move(graphs).value(), {}, {}});
        continue;
      }
      const int status = Fail(job, trial->finding.candidate, graphs.error());
      if (status != 0) return status;
    }
    // Rounds go over all finalists, so that a change of the clock meets all of them.
    for (int round = 0; round < kRounds; ++round) {
      for (Final& final : finals) {
        attempt_->Begin(FailureLine(fingerprint_, job, final.trial->finding.candidate,
                                    "the process died or hung while timing"));
        const Status sampled = Sample(&final);
        if (sampled.ok()) continue;
        // A broken context ends the process; anything else would fail again in the next round.
        const int status = Fail(job, final.trial->finding.candidate, sampled.error());
        if (status != 0) return status;
        final.warm = {};
        final.cold = {};
      }
    }
    for (const Final& final : finals) {
      const int status = WriteFinal(job, *bench, final);
      if (status != 0) return status;
    }
    return 0;
  }

  Status Sample(Final* final) {
    const double graph_us = std::max(final->trial->quick_us, 0.1) * kReplays;
    const int samples =
        std::clamp(static_cast<int>(kRoundUsMax / graph_us), 2, kSamplesPerRoundMax);
    PLAIT_CUDA_RETURN_IF_ERROR(AddSamples(
        final->graphs.warm, {.launches_per_graph = kReplays, .samples = samples}, &final->warm));
    if (final->graphs.cold == nullptr) return Ok();
    return AddSamples(*final->graphs.cold,
                      {.launches_per_graph = kReplays, .samples = samples, .flush = true},
                      &final->cold);
  }

  Status AddSamples(const ExecutableGraph& graph, const SampleOptions& options, Samples* to) {
    session_->clock().TakeSeen();  // of quick passes
    const Result<std::vector<double>> samples = SampleGraph(session_, graph, options);
    if (!samples.ok()) return samples.error();
    to->us.insert(to->us.end(), samples.value().begin(), samples.value().end());
    to->clock.Add(session_->clock().TakeSeen());
    return Ok();
  }

  static Timing TimingOf(const Samples& samples) {
    Timing timing = Summarize(samples.us);
    timing.clock = samples.clock;
    return timing;
  }

  int WriteFinal(const Job& job, const Bench& bench, const Final& final) {
    const std::string& name = final.trial->finding.candidate;
    // A kernel without weights has one time, under the key that the list asks for.
    const bool cold_only = final.graphs.cold == nullptr && job.kernel->cold_weights;
    if (!final.warm.us.empty() &&
        recorded_.variants.insert(VariantId(job, name, cold_only)).second) {
      ++timed_;
      const int status = Write(ProfileLine(*session_, job, bench.shape, final.trial->finding,
                                           TimingOf(final.warm), cold_only));
      if (status != 0) return status;
    }
    if (final.cold.us.empty() || !recorded_.variants.insert(VariantId(job, name, true)).second) {
      return 0;
    }
    return Write(
        ProfileLine(*session_, job, bench.shape, final.trial->finding, TimingOf(final.cold), true));
  }

  const Options& options_;
  Session* const session_;
  LineFile* const out_;
  Attempt* const attempt_;
  const std::string fingerprint_;
  Recorded recorded_;
  int timed_ = 0, failed_ = 0;
};

// Priority first, then the precisions and layouts in the order of the command line.
std::vector<Job> JobsOf(const std::vector<ListedKernel>& kernels, const Options& options) {
  std::vector<Job> jobs;
  for (size_t begin = 0, end = 0; begin < kernels.size(); begin = end) {
    while (end < kernels.size() && kernels[end].priority == kernels[begin].priority) ++end;
    if (kernels[begin].priority > options.priority_max) break;
    for (Precision precision : options.precisions) {
      for (MemoryLayout layout : options.layouts) {
        for (size_t i = begin; i < end; ++i) {
          const bool repeats =
              layout != options.layouts.front() && !LayoutMatters(kernels[i].problem);
          if (!repeats) jobs.push_back({&kernels[i], precision, layout});
        }
      }
    }
  }
  return jobs;
}

int MeasureKernels(const Options& options, const std::vector<ListedKernel>& kernels,
                   Attempt* attempt) {
  Result<std::unique_ptr<Session>> session = Session::Open(options.fake);
  if (!session.ok()) {
    std::fprintf(stderr, "kernels: %s\n", session.error().message.c_str());
    return 1;
  }
  Result<LineFile> out = LineFile::Open(options.out);
  if (!out.ok()) {
    std::fprintf(stderr, "kernels: %s\n", out.error().message.c_str());
    return 1;
  }
  KernelRecorder recorder(options, session.value().get(), &out.value(), attempt);
  return recorder.Run(JobsOf(kernels, options));
}

}  // namespace

int RunKernels(const Options& options) {
  Result<std::vector<ListedKernel>> kernels = ReadKernelList(options.kernels);
  if (!kernels.ok()) {
    std::fprintf(stderr, "kernels: %s\n", kernels.error().message.c_str());
    return 1;
  }
  if (static_cast<int64_t>(kernels.value().size()) > options.kernels_max) {
    kernels.value().resize(options.kernels_max);
  }
  return Supervise(options.out, [&](Attempt& attempt) {
    return MeasureKernels(options, kernels.value(), &attempt);
  });
}

}  // namespace plait::cuda
