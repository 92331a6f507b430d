#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "optimizer/cost/profile.h"
#include "optimizer/search/verifier.h"
#include "server/search_child/connection.h"
#include "server/search_child/input_sets.h"

namespace plait {

// Adds the time between its construction and its destruction to a sum.
class ElapsedSum {
 public:
  ElapsedSum(Clock& clock, absl::Duration& sum)
      : clock_(clock), sum_(sum), start_(clock.Monotonic()) {}
  ~ElapsedSum() { sum_ += clock_.Monotonic() - start_; }
  ElapsedSum(const ElapsedSum&) = delete;
  ElapsedSum& operator=(const ElapsedSum&) = delete;

 private:
  Clock& clock_;
  absl::Duration& sum_;
  const absl::Duration start_;
};

// Measures kernels on a worker, asked through the daemon, some at a time. A kernel that the worker
// cannot run, or has in another version, has no samples. Not thread-safe.
//
// A task has a few kernels only, so that the tasks of several jobs take turns at a worker, and the
// times of a batch are stored even when the search dies afterwards.
class RemoteProfiler : public Profiler {
 public:
  // What is passed must outlive the profiler.
  RemoteProfiler(ChildConnection& connection, Clock& clock)
      : connection_(connection), clock_(clock) {}

  // Errors: those of ChildConnection::Profile; Internal for an answer about another number of
  // kernels.
  absl::StatusOr<std::vector<Profile>> Measure(absl::Span<const ProfileRequest> requests) override;

  // By a task of its own. What a search must not trust counts as unknown.
  // Errors: those of ChildConnection::Profile.
  absl::StatusOr<Yardsticks> ReadYardsticks() override;

  // Of the first kernels that the worker could not measure, why: for the message of a search that
  // nothing covers.
  const std::vector<std::string>& failures() const { return failures_; }

  // Spent in these two so far, waiting for a worker included.
  // Of the wall clock, so it grows while the child waits for its turn at a busy worker.
  absl::Duration elapsed() const { return elapsed_; }

 private:
  // Appends one profile for each request, in order.
  absl::Status MeasureBatch(absl::Span<const ProfileRequest> requests,
                            std::vector<Profile>& profiles);

  ChildConnection& connection_;
  Clock& clock_;
  absl::Duration elapsed_;
  std::vector<std::string> failures_;
};

// Compares whole plans on a worker, asked through the daemon, in one task: times of two tasks could
// not be paired. Not thread-safe.
//
// Before a plan leaves it is checked against the graph that the worker will read from text: a plan
// names tensors by number, and a graph that lost its numbers would make a right plan wrong.
class RemoteVerifier : public Verifier {
 public:
  // The same for all verifications of a search.
  // Seconds are of the worker's clock.
  struct Options {
    uint64_t seed = 0;             // of the random inputs
    double tolerance = 0;          // the largest relative error that counts as equal
    bool judges_rounding = false;  // see MeasureTask
    InputSets input_sets;          // the job's, checked: on which outputs are compared, too
  };

  // What is passed must outlive the verifier.
  RemoteVerifier(ChildConnection& connection, Clock& clock, Options options)
      : connection_(connection), clock_(clock), options_(std::move(options)) {}

  // Errors: those of ChildConnection::Measure; Internal when a plan does not fit the text of its
  // graph, or the answer has another number of candidates; Unavailable when the worker left out
  // inputs.
  // In the order of the candidates; the verdict is made here, of the error that the worker sends.
  absl::StatusOr<std::vector<CandidateMeasurement>> Verify(
      absl::Span<const PlanCandidate> candidates, const VerificationBatch& batch) override;

  // On the same inputs as Verify. None when the candidate could not run, or an error is no number.
  // Errors: as Verify; Internal for an answer about another number of steps.
  absl::StatusOr<std::vector<LayerError>> MeasureErrors(const PlanCandidate& candidate,
                                                        absl::Span<const int> steps) override;

  // On a random input. Errors: as Verify; Internal for an answer about another number of steps.
  absl::StatusOr<std::vector<std::vector<double>>> TimeSteps(
      absl::Span<const PlanCandidate> candidates, const RehearsalBatch& batch) override;

  // Spent in these so far, waiting for a worker included.
  absl::Duration elapsed() const { return elapsed_; }

 private:
  // Blocks until the worker has answered; see ChildConnection::Measure.
  ChildConnection& connection_;
  Clock& clock_;
  const Options options_;
  absl::Duration elapsed_;
};

}  // namespace plait
