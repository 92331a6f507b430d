#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "plait/v1/profile.pb.h"

// Profiles from workers and imports. All functions are pure and thread-safe; `field` is the
// message's path from the request, for errors.
namespace plait::wire {

// The key under which a device's load effect is stored.
inline constexpr char kLoadEffectKey[] = "load_effect";

// 10,000 samples of one kernel: more than any worker takes. Of two profiles the one with more
// samples stays, so that a number without a bound would keep a wrong time for ever.
inline constexpr int kProfileSamplesMax = 10'000;

// A time that a search may trust: finite, not negative, from 1 to kProfileSamplesMax samples,
// beside yardsticks of the same kind, which may be unset.
// Errors: InvalidArgument naming the field.
absl::Status CheckProfile(const v1::Profile& profile, absl::string_view field);

// Whether the device stayed as it was while the kernel was measured (base/yardstick_drift.h).
bool IsSteady(const v1::Profile& profile);

// How much a profile is worth beside another one of its kernel: its samples; 0 of one that is not
// steady, which any other may replace.
int64_t SamplesThatCount(const v1::Profile& profile);

// A load effect that intervals may rest on.
// Errors: as CheckProfile.
absl::Status CheckLoadEffect(const v1::LoadEffect& effect, absl::string_view field);

// A key and a fingerprint that can be stored.
// Errors: InvalidArgument naming the field.
absl::Status CheckProfileName(absl::string_view fingerprint, absl::string_view key,
                              absl::string_view field);

// A profile, or the load effect of a device, with a key and a fingerprint that can be stored,
// measured in 1970 or later.
// Errors: InvalidArgument naming the field.
absl::Status CheckStoredProfile(const v1::StoredProfile& profile, absl::string_view field);

}  // namespace plait::wire
