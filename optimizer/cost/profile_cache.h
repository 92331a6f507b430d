#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "optimizer/cost/measurement_log.h"
#include "optimizer/cost/profile.h"
#include "optimizer/ir/fingerprint.h"

namespace plait {

// A kernel whose profile the search wants. `kernel` stands for the key inside one process, because
// building the key's text for every candidate would cost more than the search itself.
struct ProfileQuery {
  Fingerprint kernel;
  ProfileKey key;
};

// A kernel's place among known profiles. Profiles with samples == 0 say that it cannot run.
// Thread rule: Find from any thread, unless another thread is in Load or Resolve.
class ProfileCache {
 public:
  // `profiler` and `log` must outlive the database.
  ProfileCache(Profiler& profiler, MeasurementLog& log) : profiler_(profiler), log_(log) {}
  ProfileCache(const ProfileCache&) = delete;
  ProfileCache& operator=(const ProfileCache&) = delete;

  // Adds a profile of an earlier job, by the text of its key. It counts only when it is asked for.
  void Load(const std::string& key_text, const Profile& profile);

  // nullptr unless Resolve was called with this kernel before.
  const Profile* Find(const Fingerprint& kernel) const;

  // Makes Find answer for every query: from loaded profiles, or by one batch of measurements,
  // sorted by key so that equal sets of queries are measured in equal order. Whatever is answered
  // is logged. Errors: those of Profiler::Measure; Internal when it answers with another number of
  // profiles.
  absl::Status Resolve(const std::vector<ProfileQuery>& queries);

  int64_t profiles_measured() const { return static_cast<int64_t>(measured_.size()); }
  int64_t profiles_cached() const { return profiles_cached_; }

  // Profiles that were measured here: what a store keeps for later jobs.
  const std::vector<std::pair<ProfileKey, Profile>>& measured() const { return measured_; }

  // The best rates seen among resolved profiles, in flops per microsecond of one device: 0 before
  // the first profile. Depends on what was resolved, never on what was merely loaded.
  double peak_flops_per_us() const { return peak_flops_per_us_; }

 private:
  void Answer(const Fingerprint& kernel, const std::string& key_text, const Profile& profile);

  Profiler& profiler_;
  MeasurementLog& log_;
  absl::flat_hash_map<std::string, Profile> by_key_;
  absl::flat_hash_map<Fingerprint, Profile> by_kernel_;
  std::vector<std::pair<ProfileKey, Profile>> measured_;
  int64_t profiles_cached_ = 0;
  double peak_flops_per_us_ = 0;
};

}  // namespace plait
