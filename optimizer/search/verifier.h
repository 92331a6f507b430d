#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "optimizer/cost/measurement_log.h"
#include "optimizer/ir/graph.h"
#include "optimizer/plan/plan.h"

namespace plait {

// A whole plan that may replace the original computation. It owns its graph: candidates outlive the
// search that found them, on their way to another process.
// Graph and plan must fit each other; a device checks it again.
struct PlanCandidate {
  std::string id;  // of graph and plan by content
  Graph graph;
  Plan plan;
  double predicted_us = 0;  // of one run, by the simulator
};

// How much of the device's time a verification may take.
struct VerificationBatch {
  int loads = 1;            // at most; what a load is lucky with lasts as long as it does
  int rounds = 10;          // of each load, at most
  int rounds_min = 3;       // of all loads together
  double seconds_max = 30;  // fewer rounds and loads are taken then, down to five loads
  // On what outputs are compared: seeded inputs, of other statistics each up to the fourth, and
  // those that the user gave.
  int random_inputs = 4;
  bool has_given_inputs = true;
};

// How much of the device's time a rehearsal may take.
struct RehearsalBatch {
  int rounds = 12;          // at most
  int rounds_min = 3;       // whatever the time
  double seconds_max = 10;  // of rounds, without loading
};

// The id of a candidate: equal graphs with equal plans are equal candidates, on any machine. Built
// from their content, so that a log can be matched with a later search.
// Short, and the same in every process.
std::string CandidateId(const Graph& graph, const Plan& plan);

// Whether the rounds of two candidates can be compared: both have samples, all of them are times,
// and round by round and load by load they were taken beside each other.
bool AreComparable(const CandidateMeasurement& a, const CandidateMeasurement& b);

// Adds the loads and rounds of a later batch; what was found about outputs stays.
void AddRounds(const CandidateMeasurement& more, CandidateMeasurement& measurement);

// Runs whole plans on the device beside each other: the only place where a search meets the truth.
// One implementation per way to the device; fakes and logs answer in tests and replays. The search
// calls from one thread.
class Verifier {
 public:
  virtual ~Verifier() = default;

  // Times the candidates in interleaved rounds, so that sample i of every candidate was taken next
  // to sample i of the others, and compares their outputs with those of the first candidate, the
  // baseline, on several seeded inputs. One measurement per candidate, in order. A candidate that
  // cannot run has an error text and no samples. All candidates of a batch are loaded at the same
  // time.
  // Errors: Unavailable when the device is gone; Cancelled; DeadlineExceeded.
  virtual absl::StatusOr<std::vector<CandidateMeasurement>> Verify(
      absl::Span<const PlanCandidate> candidates, const VerificationBatch& batch) = 0;

  // How far steps of the candidate's plan are from exact results, on what they read when the
  // candidate runs on a random input and on those that the user gave, and on hard inputs. One error
  // for each step, in order, finite and not negative; none at all when they could not be measured.
  // REQUIRES: the steps are of kernels that need admission (KernelCatalog::NeedsAdmission),
  // ascending, and at least one.
  // Errors: as Verify.
  virtual absl::StatusOr<std::vector<LayerError>> MeasureErrors(const PlanCandidate& candidate,
                                                                absl::Span<const int> steps) = 0;

  // Microseconds that each step of the candidates' plans takes in its place, in rounds that the
  // candidates run in turn, all of them loaded at the same time. One list per candidate, in order,
  // with a finite time that is not negative for each step; an empty one of a candidate that cannot
  // run, and of all where the device does not tell: so unless this is overridden.
  // Errors: Unavailable when the device is gone; Cancelled; DeadlineExceeded.
  virtual absl::StatusOr<std::vector<std::vector<double>>> TimeSteps(
      absl::Span<const PlanCandidate> candidates, const RehearsalBatch& batch);
};

// Answers from a log, in the order in which the log was written: with it and ReplayingProfiler a
// job is repeated without its device. Not thread-safe.
class ReplayingVerifier : public Verifier {
 public:
  // `log` must outlive the verifier.
  explicit ReplayingVerifier(const MeasurementLog& log) : log_(log) {}

  // Errors: FailedPrecondition when other candidates were verified when the log was written.
  absl::StatusOr<std::vector<CandidateMeasurement>> Verify(
      absl::Span<const PlanCandidate> candidates, const VerificationBatch& batch) override;
  // Errors: FailedPrecondition when the log was written about other steps.
  absl::StatusOr<std::vector<LayerError>> MeasureErrors(const PlanCandidate& candidate,
                                                        absl::Span<const int> steps) override;
  // Errors: FailedPrecondition when the log was written about other candidates.
  absl::StatusOr<std::vector<std::vector<double>>> TimeSteps(
      absl::Span<const PlanCandidate> candidates, const RehearsalBatch& batch) override;

 private:
  const MeasurementLog& log_;
  size_t next_ = 0;
  size_t next_errors_ = 0;
  size_t next_rehearsal_ = 0;
};

}  // namespace plait
