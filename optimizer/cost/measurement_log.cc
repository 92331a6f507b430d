#include "optimizer/cost/measurement_log.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace plait {

absl::string_view VerdictName(Verdict verdict) {
  switch (verdict) {
    case Verdict::kEquivalent:
      return "equivalent";
    case Verdict::kDifferent:
      return "different";
    case Verdict::kInconclusive:
      break;
  }
  return "inconclusive";
}

void MeasurementLog::AddProfile(const std::string& key_text, const Profile& profile) {
  // Not insert_or_assign: decisions were taken by the first one.
  profiles_.emplace(key_text, profile);
}

void MeasurementLog::AddVerification(std::vector<CandidateMeasurement> measurements) {
  verifications_.push_back(std::move(measurements));
}

const Profile* MeasurementLog::FindProfile(const std::string& key_text) const {
  const auto found = profiles_.find(key_text);
  return found == profiles_.end() ? nullptr : &found->second;
}

absl::StatusOr<std::vector<Profile>> ReplayingProfiler::Measure(
    absl::Span<const ProfileRequest> requests) {
  std::vector<Profile> profiles;
  for (const ProfileRequest& request : requests) {
    const std::string key_text = request.key.ToString();
    const Profile* profile = log_.FindProfile(key_text);
    if (profile == nullptr) {
      return absl::NotFoundError(
          absl::StrCat("the measurement log has no profile of ", request.key.family, " kernel \"",
                       key_text, "\": replay it with the model, options and build that wrote it"));
    }
    profiles.push_back(*profile);
  }
  return profiles;
}

}  // namespace plait
