#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "optimizer/cost/profile.h"

namespace plait {

// What comparing the outputs of two computations showed.
enum class Verdict {
  kInconclusive,  // not compared, or every output was constant whatever the inputs
  kEquivalent,
  kDifferent,
};

absl::string_view VerdictName(Verdict verdict);  // "inconclusive", "equivalent", "different"

// A candidate's outputs beside the baseline's, over several seeded inputs.
struct Equivalence {
  Verdict verdict = Verdict::kInconclusive;
  double max_abs_error = 0;
  double max_rel_error = 0;  // largest |a-b| of an output over the largest |a| of that output
  int inputs_tried = 0;

  friend bool operator==(const Equivalence&, const Equivalence&) = default;
};

// What one verification measured of one candidate.
struct CandidateMeasurement {
  std::string candidate;           // names graph and plan by content
  std::vector<double> latency_us;  // one per round, paired by index with the baseline's
  Equivalence equivalence;
  int fallback_nodes = 0;  // nodes that ran as reference code
  std::string error;       // why the candidate could not run; empty when it ran

  friend bool operator==(const CandidateMeasurement&, const CandidateMeasurement&) = default;
};

// Everything from outside that a job's decisions depended on: the profiles it used, the samples of
// its verifications in order, and the step at which its budget ran out. A job that is repeated from
// its log decides the same on any number of threads. Not thread-safe.
class MeasurementLog {
 public:
  static constexpr int64_t kNeverExhausted = -1;

  // Keeps the first profile of a key: a job never measures a key twice.
  void AddProfile(const std::string& key_text, const Profile& profile);
  void AddVerification(std::vector<CandidateMeasurement> measurements);
  void set_exhausted_at_step(int64_t step) { exhausted_at_step_ = step; }

  // nullptr when the job did not use this key.
  const Profile* FindProfile(const std::string& key_text) const;
  const std::vector<std::vector<CandidateMeasurement>>& verifications() const {
    return verifications_;
  }
  int64_t exhausted_at_step() const { return exhausted_at_step_; }

  // One line per record, sorted where order has no meaning; numbers parse to the same bits.
  std::string ToText() const;

  // Errors: InvalidArgument naming the line.
  static absl::StatusOr<MeasurementLog> Parse(absl::string_view text);

  friend bool operator==(const MeasurementLog&, const MeasurementLog&) = default;

 private:
  std::map<std::string, Profile> profiles_;
  std::vector<std::vector<CandidateMeasurement>> verifications_;
  int64_t exhausted_at_step_ = kNeverExhausted;
};

// Answers from a log what a device answered when the log was written. Not thread-safe.
class ReplayingProfiler : public Profiler {
 public:
  // `log` must outlive the profiler.
  explicit ReplayingProfiler(const MeasurementLog& log) : log_(log) {}

  // Errors: NotFound when the log lacks a key: it belongs to another model, build or device.
  absl::StatusOr<std::vector<Profile>> Measure(absl::Span<const ProfileRequest> requests) override;

 private:
  const MeasurementLog& log_;
};

}  // namespace plait
