#include "proto/wire/profile.h"

#include <cmath>
#include <limits>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/simulated_device.h"
#include "base/status_macros.h"
#include "base/yardstick_drift.h"
#include "proto/wire/error.h"
#include "proto/wire/names.h"

namespace plait::wire {
namespace {

// The names of some tens of parts.
constexpr size_t kImplementationBytesMax = 4096;

// The path is put together for an error only: a search checks 100,000 profiles when it begins.
absl::Status InvalidProfile(absl::string_view field, absl::string_view name,
                            absl::string_view description) {
  return FieldError(absl::StrCat(field, ".", name), description);
}

// A negative time would win every comparison of a search, and NaN gives times no order.
absl::Status CheckFinite(absl::string_view field, absl::string_view name, double value) {
  if (std::isfinite(value) && value >= 0) return absl::OkStatus();
  return InvalidProfile(field, name, absl::StrCat("must be finite and >= 0, is ", value));
}

// Besides, so many of them add up to a number.
absl::Status CheckProfileTime(absl::string_view field, absl::string_view name, double us) {
  if (us >= 0 && us <= kLatencyUsMax) return absl::OkStatus();
  return InvalidProfile(field, name, absl::StrCat("must be 0 to ", kLatencyUsMax, ", is ", us));
}

absl::Status CheckCount(absl::string_view field, absl::string_view name, int64_t count) {
  if (count >= 0) return absl::OkStatus();
  return InvalidProfile(field, name, absl::StrCat("must be 0 or more, is ", count));
}

}  // namespace

absl::Status CheckProfile(const v1::Profile& profile, absl::string_view field) {
  PLAIT_RETURN_IF_ERROR(CheckProfileTime(field, "latency_us_median", profile.latency_us_median()));
  PLAIT_RETURN_IF_ERROR(CheckProfileTime(field, "latency_us_p10", profile.latency_us_p10()));
  PLAIT_RETURN_IF_ERROR(CheckProfileTime(field, "latency_us_mad", profile.latency_us_mad()));
  // A summary of nothing has no median.
  if (profile.samples() < 1 || profile.samples() > kProfileSamplesMax) {
    return InvalidProfile(
        field, "samples",
        absl::StrCat("must be 1 to ", kProfileSamplesMax, ", is ", profile.samples()));
  }
  // Written so that NaN fails.
  if (!(profile.compute_share() >= 0 && profile.compute_share() <= 1)) {
    return InvalidProfile(field, "compute_share",
                          absl::StrCat("must be 0 to 1, is ", profile.compute_share()));
  }
  PLAIT_RETURN_IF_ERROR(CheckCount(field, "bytes", profile.bytes()));
  PLAIT_RETURN_IF_ERROR(CheckCount(field, "flops", profile.flops()));
  PLAIT_RETURN_IF_ERROR(CheckCount(field, "workspace_bytes", profile.workspace_bytes()));
  // It stands on a line of a log.
  if (profile.implementation().size() > kImplementationBytesMax ||
      absl::c_any_of(profile.implementation(), [](char c) { return absl::ascii_iscntrl(c); })) {
    return InvalidProfile(field, "implementation",
                          absl::StrCat("must be at most ", kImplementationBytesMax,
                                       " bytes without control characters"));
  }
  const v1::Yardsticks& yardsticks = profile.yardsticks();
  PLAIT_RETURN_IF_ERROR(CheckFinite(field, "yardsticks.multiply_add_flops_per_us",
                                    yardsticks.multiply_add_flops_per_us()));
  PLAIT_RETURN_IF_ERROR(
      CheckFinite(field, "yardsticks.read_bytes_per_us", yardsticks.read_bytes_per_us()));
  return CheckFinite(field, "yardsticks.drift", yardsticks.drift());
}

bool IsSteady(const v1::Profile& profile) {
  return profile.yardsticks().drift() <= kYardstickDriftMax;
}

int64_t SamplesThatCount(const v1::Profile& profile) {
  return IsSteady(profile) ? profile.samples() : 0;
}

absl::Status CheckLoadEffect(const v1::LoadEffect& effect, absl::string_view field) {
  // Written so that NaN fails.
  if (!(effect.deviation() >= 0 && effect.deviation() < 1)) {
    return InvalidProfile(field, "deviation",
                          absl::StrCat("must be 0 to 1, is ", effect.deviation()));
  }
  // Loads are counted in 32 bits.
  if (effect.loads() < 2 || effect.loads() > std::numeric_limits<int32_t>::max()) {
    return InvalidProfile(field, "loads", absl::StrCat("must be 2 or more, is ", effect.loads()));
  }
  return absl::OkStatus();
}

absl::Status CheckProfileName(absl::string_view fingerprint, absl::string_view key,
                              absl::string_view field) {
  if (key.empty() || key.size() > kProfileKeyBytesMax) {
    return InvalidProfile(
        field, "key",
        absl::StrCat("must have 1 to ", kProfileKeyBytesMax, " bytes, has ", key.size()));
  }
  return CheckName(absl::StrCat(field, ".device_fingerprint"), fingerprint);
}

absl::Status CheckStoredProfile(const v1::StoredProfile& profile, absl::string_view field) {
  PLAIT_RETURN_IF_ERROR(CheckProfileName(profile.device_fingerprint(), profile.key(), field));
  if (IsSimulatedFingerprint(profile.device_fingerprint())) {
    return InvalidProfile(field, "device_fingerprint",
                          "is a simulated device's, which has no times");
  }
  PLAIT_RETURN_IF_ERROR(
      CheckCount(field, "measure_time.seconds", profile.measure_time().seconds()));
  if (profile.has_load_effect() != (profile.key() == kLoadEffectKey)) {
    return InvalidProfile(
        field, "key",
        absl::StrCat("\"", kLoadEffectKey, "\" is the key of a load effect and of nothing else"));
  }
  if (profile.has_load_effect()) {
    return CheckLoadEffect(profile.load_effect(), absl::StrCat(field, ".load_effect"));
  }
  return CheckProfile(profile.profile(), absl::StrCat(field, ".profile"));
}

}  // namespace plait::wire
