#include "proto/wire/profile.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "proto/wire/error.h"
#include "proto/wire/names.h"

namespace plait::wire {
namespace {

absl::Status Invalid(absl::string_view message) {
  return Error(v1::ERROR_REASON_INVALID_REQUEST, message);
}

// A negative time would win every comparison of a search, and NaN gives times no order.
absl::Status CheckLatency(absl::string_view field, double latency_us) {
  if (std::isfinite(latency_us) && latency_us >= 0) return absl::OkStatus();
  return Invalid(absl::StrCat("profile.", field, ": must be finite and >= 0, is ", latency_us));
}

}  // namespace

absl::Status CheckProfile(const v1::Profile& profile) {
  PLAIT_RETURN_IF_ERROR(CheckLatency("latency_us_median", profile.latency_us_median()));
  PLAIT_RETURN_IF_ERROR(CheckLatency("latency_us_p10", profile.latency_us_p10()));
  PLAIT_RETURN_IF_ERROR(CheckLatency("latency_us_mad", profile.latency_us_mad()));
  // A summary of nothing has no median.
  if (profile.samples() < 1) {
    return Invalid(absl::StrCat("profile.samples: must be positive, is ", profile.samples()));
  }
  // Written so that NaN fails.
  if (!(profile.compute_share() >= 0 && profile.compute_share() <= 1)) {
    return Invalid(
        absl::StrCat("profile.compute_share: must be 0 to 1, is ", profile.compute_share()));
  }
  if (profile.bytes() < 0 || profile.flops() < 0) {
    return Invalid("profile: bytes and flops must not be negative");
  }
  return absl::OkStatus();
}

absl::Status CheckStoredProfile(const v1::StoredProfile& profile) {
  if (profile.key().empty() || profile.key().size() > kProfileKeyBytesMax) {
    return Invalid(absl::StrCat("profile.key: must have 1 to ", kProfileKeyBytesMax, " bytes, has ",
                                profile.key().size()));
  }
  PLAIT_RETURN_IF_ERROR(CheckName("profile.device_fingerprint", profile.device_fingerprint()));
  return CheckProfile(profile.profile());
}

}  // namespace plait::wire
