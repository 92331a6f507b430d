#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "optimizer/cost/measurement_log.h"
#include "optimizer/cost/profile.h"
#include "optimizer/ir/fingerprint.h"

// Map of this folder: times, measured and computed. Read
//   profile            what was measured of a kernel, and who measures (Profiler)
//   yardsticks         how fast the device was meanwhile
//   scale_profile      what an older profile would be now
//   profile_cache      which profiles are known; the search sees no other side of measuring
//   layer_error, admissions   which kernels have fp32 accuracy where, of those that may not
//   measurement_log    everything measured that a job depended on, to repeat it without a device
//   critical_path_cost, roofline   bounds from profiles, and without any
//   simulator          how long a schedule takes when kernels share a device
namespace plait {

// A kernel whose profile the search wants. `kernel` stands for the key inside one process, because
// building the key's text for every candidate would cost more than the search itself. Both name the
// same kernel. Queries of one batch may repeat each other.
struct ProfileQuery {
  Fingerprint kernel;
  ProfileKey key;
};

// The profiles that a job knows, and the way to more of them: in front of a Profiler as a cache. A
// search cannot tell what was measured now from what an earlier job had measured: what is loaded,
// measured, logged and kept is raw, and what is found is scaled to how fast the device was when the
// first profile was asked for. Profiles with samples == 0 say that a kernel cannot run.
// Thread rule: Find from any thread, unless another thread is in Load or Resolve.
class ProfileCache {
 public:
  // `profiler` and `log` must outlive the cache.
  ProfileCache(Profiler& profiler, MeasurementLog& log) : profiler_(profiler), log_(log) {}
  ProfileCache(const ProfileCache&) = delete;
  ProfileCache& operator=(const ProfileCache&) = delete;

  // Adds a profile of an earlier job, by the text of its key, in the place of what was loaded under
  // it before. It counts only when it is asked for.
  void Load(const std::string& key_text, const Profile& profile);

  // nullptr unless Resolve was called with this kernel before. Valid until the next Load or
  // Resolve. Scaled (ScaledToPresent).
  const Profile* Find(const Fingerprint& kernel) const;

  // Makes Find answer for every query: from loaded profiles, or by one batch of measurements,
  // sorted by key so that equal sets of queries are measured in equal order. Whatever is answered
  // is logged. Kernels with one key are measured once. After an error, what was known before still
  // is.
  // The batch is as large as the set of keys that nobody knows yet: a device that is far away is
  // asked once.
  // The first one that is not empty reads the yardsticks that all profiles are scaled to.
  // Errors: those of Profiler; Internal when it answers with another number of profiles.
  absl::Status Resolve(const std::vector<ProfileQuery>& queries);

  // Keys, not queries: measured here, and answered from what an earlier job had measured.
  int64_t profiles_measured() const { return static_cast<int64_t>(measured_.size()); }
  int64_t profiles_cached() const { return profiles_cached_; }

  // Of the former, those beside which the device was not steady (IsSteady).
  int64_t profiles_unsteady() const;

  // Profiles that were measured here: what a store keeps for later jobs.
  const std::vector<std::pair<ProfileKey, Profile>>& measured() const { return measured_; }

  // The best rate of the whole device among resolved profiles, in flops per microsecond; kernels
  // that take a share of it count as often as they fit. 0 before the first profile. Depends on what
  // was resolved, never on what was merely loaded.
  double peak_flops_per_us() const { return peak_flops_per_us_; }

 private:
  // Once: what all profiles are scaled to. Errors: those of Profiler.
  absl::Status ReadPresent();
  // Makes Find answer, and writes the profile down.
  void Answer(const Fingerprint& kernel, const std::string& key_text, const Profile& raw);

  Profiler& profiler_;
  MeasurementLog& log_;
  absl::flat_hash_map<std::string, Profile> by_key_;     // all that is known
  absl::flat_hash_map<Fingerprint, Profile> by_kernel_;  // what was asked for, scaled
  std::optional<Yardsticks> present_;
  std::vector<std::pair<ProfileKey, Profile>> measured_;
  int64_t profiles_cached_ = 0;
  double peak_flops_per_us_ = 0;
};

}  // namespace plait
