#include "optimizer/cost/profile_cache.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/cost/scale_profile.h"

namespace plait {

void ProfileCache::Load(const std::string& key_text, const Profile& profile) {
  by_key_.insert_or_assign(key_text, profile);
}

const Profile* ProfileCache::Find(const Fingerprint& kernel) const {
  const auto found = by_kernel_.find(kernel);
  return found == by_kernel_.end() ? nullptr : &found->second;
}

// Two queries with one key, say of two graphs that share a kernel, become one request. Measuring in
// the order of the texts makes the measurements, and so the log, independent of the order in which
// threads of the search came to ask.
absl::Status ProfileCache::Resolve(const std::vector<ProfileQuery>& queries) {
  if (queries.empty()) return absl::OkStatus();
  PLAIT_RETURN_IF_ERROR(ReadPresent());
  // Sorted by text, each text once, whatever order the queries came in.
  std::map<std::string, std::vector<const ProfileQuery*>> missing;
  for (const ProfileQuery& query : queries) {
    if (by_kernel_.contains(query.kernel)) continue;
    const std::string key_text = query.key.ToString();
    const auto known = by_key_.find(key_text);
    if (known == by_key_.end()) {
      missing[key_text].push_back(&query);
      continue;
    }
    // The log knows each key that this job has used: only the first use counts.
    if (log_.FindProfile(key_text) == nullptr) ++profiles_cached_;
    Answer(query.kernel, key_text, Profile(known->second));
  }
  if (missing.empty()) return absl::OkStatus();

  std::vector<ProfileRequest> requests;
  for (const auto& [key_text, askers] : missing) requests.push_back({askers.front()->key});
  PLAIT_ASSIGN_OR_RETURN(const std::vector<Profile> profiles, profiler_.Measure(requests));
  if (profiles.size() != requests.size()) {
    return absl::InternalError(absl::StrCat("the profiler answered ", requests.size(),
                                            " requests with ", profiles.size(), " profiles"));
  }
  // The map's order is the order of the requests.
  size_t index = 0;
  for (const auto& [key_text, askers] : missing) {
    const Profile& profile = profiles[index];
    by_key_.insert_or_assign(key_text, profile);
    measured_.emplace_back(requests[index].key, profile);
    for (const ProfileQuery* query : askers) Answer(query->kernel, key_text, profile);
    ++index;
  }
  return absl::OkStatus();
}

int64_t ProfileCache::profiles_unsteady() const {
  return std::count_if(measured_.begin(), measured_.end(),
                       [](const auto& entry) { return !IsSteady(entry.second.yardsticks); });
}

absl::Status ProfileCache::ReadPresent() {
  if (present_) return absl::OkStatus();
  PLAIT_ASSIGN_OR_RETURN(present_, profiler_.ReadYardsticks());
  log_.set_yardsticks(*present_);
  return absl::OkStatus();
}

void ProfileCache::Answer(const Fingerprint& kernel, const std::string& key_text,
                          const Profile& raw) {
  log_.AddProfile(key_text, raw);
  const Profile profile = ScaledToPresent(raw, *present_);
  by_kernel_.emplace(kernel, profile);
  // What the whole device would do with as many of these kernels as fit on it.
  const double device_us = profile.latency_us_median * profile.compute_share;
  if (profile.samples > 0 && device_us > 0) {
    peak_flops_per_us_ =
        std::max(peak_flops_per_us_, static_cast<double>(profile.flops) / device_us);
  }
}

}  // namespace plait
