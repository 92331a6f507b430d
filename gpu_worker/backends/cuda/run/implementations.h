#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "gpu_worker/backends/cuda/driver/runtime.h"
#include "gpu_worker/backends/cuda/driver/staging.h"
#include "gpu_worker/backends/cuda/problem/candidate.h"
#include "gpu_worker/backends/cuda/run/prepare_candidates.h"
#include "gpu_worker/backends/cuda/run/step_problem.h"

namespace plait::cuda {

// How a candidate is found.
enum class ChoiceBy {
  kTrial,  // all are tried on the device and those that are right timed, also one without rivals
  kFirst,  // the first one that is right when it is tried: for a device without times of its own
};

// The ways in which one device computes problems: for each problem the fastest, and the one for
// steps that are to leave room for others (CandidateChoice), by timing all of them on the device
// once. Nothing is launched by a plan whose results were not compared, whoever named it. Remembers
// its choices. Not thread-safe.
class Implementations {
 public:
  // `device`, its runtime, `stream`, `staging` and `clock` outlive it. `has_libraries`: see
  // AskSources.
  Implementations(const CudaDevice& device, bool has_libraries, ChoiceBy choice_by, Stream stream,
                  Staging* staging, ClockWatch* clock)
      : device_(device),
        has_libraries_(has_libraries),
        choice_by_(choice_by),
        stream_(stream),
        staging_(staging),
        clock_(clock) {}

  // A prepared candidate for the step, which may be launched with any operands that are aligned as
  // the step says. REQUIRES: the step is a launch.
  // Errors: Unimplemented naming the problem, and for each source why it has no candidate;
  // InvalidArgument where the candidate that the step names is not among them, or is not right.
  absl::StatusOr<std::shared_ptr<Candidate>> Find(const StepProblem& step);

  // Chooses for all of these steps, so that Find() knows the answers. Candidates are listed and
  // built and their trials computed on all of the host's processors at once, which takes most of
  // the time of a choice; the device times one problem after the other meanwhile. What is not
  // chosen when it is stopped is left to Find().
  void Anticipate(absl::Span<const StepProblem> steps, const std::stop_token& stop);

 private:
  // What a choice depends on.
  struct Key {
    Problem problem;
    Precision precision;
    MemoryLayout layout;
    OperandPlaces places;
    std::string implementation;

    friend bool operator==(const Key&, const Key&) = default;
  };
  // The candidates for steps of a problem, and for those of them that are to leave room for others;
  // they may be one.
  struct Chosen {
    std::shared_ptr<Candidate> fastest;
    std::shared_ptr<Candidate> narrowest;
  };
  // What was chosen, or why there is nothing.
  struct Choice {
    Key key;
    absl::StatusOr<Chosen> chosen;
  };

  static Key KeyOf(const StepProblem& step);
  const Choice* Known(const Key& key) const;
  absl::StatusOr<Chosen> FindBoth(const StepProblem& step);
  // But for what a device that has failed says.
  void Remember(Key key, const absl::StatusOr<Chosen>& chosen);
  absl::StatusOr<Chosen> Choose(const StepProblem& step, PreparedStep prepared) const;
  // The first candidate that is right; like Choose() otherwise.
  absl::StatusOr<Chosen> ChooseFirst(const StepProblem& step) const;
  // Errors: those of TrialBench.
  Status TryOut(Candidate* candidate, const StepProblem& step, const TrialData& trial) const;
  TimingDevice timing_device() const {
    return {device_.runtime, stream_, staging_, device_.multiprocessors, clock_};
  }

  const CudaDevice& device_;
  const bool has_libraries_;
  const ChoiceBy choice_by_;
  const Stream stream_;
  Staging* const staging_;
  ClockWatch* const clock_;
  std::vector<Choice> choices_;
};

}  // namespace plait::cuda
