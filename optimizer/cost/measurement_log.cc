#include "optimizer/cost/measurement_log.h"

#include <utility>

namespace plait {

void MeasurementLog::AddProfile(const std::string& key_text, const Profile& profile) {
  // Not insert_or_assign: decisions were taken by the first one.
  profiles_.emplace(key_text, profile);
}

void MeasurementLog::AddVerification(std::vector<CandidateMeasurement> measurements) {
  verifications_.push_back(std::move(measurements));
}

void MeasurementLog::AddErrorMeasurement(ErrorMeasurement measurement) {
  error_measurements_.push_back(std::move(measurement));
}

void MeasurementLog::AddRehearsal(Rehearsal rehearsal) {
  rehearsals_.push_back(std::move(rehearsal));
}

const Profile* MeasurementLog::FindProfile(const std::string& key_text) const {
  const auto found = profiles_.find(key_text);
  return found == profiles_.end() ? nullptr : &found->second;
}

void MeasurementLog::AddRuntimeMeasurement(RuntimeMeasurement measurement) {
  runtime_measurements_.push_back(std::move(measurement));
}

}  // namespace plait
