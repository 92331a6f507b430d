#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "optimizer/cost/candidate_measurement.h"
#include "optimizer/cost/layer_error.h"
#include "optimizer/cost/load_effect.h"
#include "optimizer/cost/profile.h"
#include "optimizer/cost/runtime_measurement.h"

namespace plait {

// How far some steps of a candidate's plan are from exact results: a question and its answer.
struct ErrorMeasurement {
  std::string candidate;           // names graph and plan by content
  std::vector<int> steps;          // by number, ascending
  std::vector<LayerError> errors;  // one per step; none when they could not be measured

  friend bool operator==(const ErrorMeasurement&, const ErrorMeasurement&) = default;
};

// What steps took in their places, in plans that were run in turn: a question and its answer.
struct Rehearsal {
  std::vector<std::string> candidates;  // each names graph and plan by content
  std::vector<std::vector<double>>
      step_us;  // by candidate: of each step; none where it did not run

  friend bool operator==(const Rehearsal&, const Rehearsal&) = default;
};

// Everything from outside that a job's decisions depended on: the profiles it used, raw, and the
// yardsticks that it scaled them to, the device's load effect, the errors of kernels that need
// admission, the times of steps in their places and the samples of its verifications, each in
// order, and what its budget said of the time. A job that is repeated from its log decides the same
// on any number of threads. Not thread-safe.
//
// With a ReplayingProfiler, a ReplayingVerifier and a ReplayingBudget on it a search runs without
// device and clock, and its result is the first one's, bit for bit. What the search computes from
// its own arguments is not in the log.
class MeasurementLog {
 public:
  static constexpr int64_t kNeverExhausted = -1;

  // Keeps the first profile of a key: a job never measures a key twice.
  void AddProfile(const std::string& key_text, const Profile& profile);
  // In the order in which they happened, which a replay repeats.
  // One measurement per candidate of the batch, the baseline first.
  void AddVerification(std::vector<CandidateMeasurement> measurements);
  void AddErrorMeasurement(ErrorMeasurement measurement);
  // One list of times per candidate.
  void AddRehearsal(Rehearsal rehearsal);
  void AddRuntimeMeasurement(RuntimeMeasurement measurement);
  // What the budget said of the time that is left, in the order in which it was asked.
  void AddTimeAnswer(bool has_time) { time_answers_.push_back(has_time); }
  // To which the profiles were scaled.
  void set_yardsticks(const Yardsticks& yardsticks) { yardsticks_ = yardsticks; }
  // By which the verifications were judged.
  void set_load_effect(const LoadEffect& effect) { load_effect_ = effect; }
  // The first step that the budget refused; kNeverExhausted when it refused none.
  void set_exhausted_at_step(int64_t step) { exhausted_at_step_ = step; }

  // nullptr when the job did not use this key. Valid for as long as the log.
  const Profile* FindProfile(const std::string& key_text) const;
  const std::map<std::string, Profile>& profiles() const { return profiles_; }
  const std::vector<std::vector<CandidateMeasurement>>& verifications() const {
    return verifications_;
  }
  const std::vector<ErrorMeasurement>& error_measurements() const { return error_measurements_; }
  const std::vector<Rehearsal>& rehearsals() const { return rehearsals_; }
  const std::vector<RuntimeMeasurement>& runtime_measurements() const {
    return runtime_measurements_;
  }
  int64_t exhausted_at_step() const { return exhausted_at_step_; }
  const std::vector<bool>& time_answers() const { return time_answers_; }
  const Yardsticks& yardsticks() const { return yardsticks_; }
  const LoadEffect& load_effect() const { return load_effect_; }

  // One line per record, sorted where order has no meaning; numbers parse to the same bits. Equal
  // logs have equal texts.
  std::string ToText() const;

  // The inverse of ToText. The text may come from a user: it is checked line by line.
  // Errors: InvalidArgument naming the line.
  static absl::StatusOr<MeasurementLog> Parse(absl::string_view text);

  friend bool operator==(const MeasurementLog&, const MeasurementLog&) = default;

 private:
  std::map<std::string, Profile> profiles_;
  std::vector<std::vector<CandidateMeasurement>> verifications_;
  std::vector<ErrorMeasurement> error_measurements_;
  std::vector<Rehearsal> rehearsals_;
  std::vector<RuntimeMeasurement> runtime_measurements_;
  int64_t exhausted_at_step_ = kNeverExhausted;
  std::vector<bool> time_answers_;
  Yardsticks yardsticks_;
  LoadEffect load_effect_;
};

}  // namespace plait
