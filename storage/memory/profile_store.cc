#include "storage/memory/profile_store.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/synchronization/mutex.h"

namespace plait {
namespace {

using ProfileName = std::pair<std::string, std::string>;  // the device's fingerprint, and the key

// A sorted map, whose order is the order of listings.
class MemoryProfileStore : public ProfileStore {
 public:
  absl::StatusOr<int64_t> Put(absl::Span<const v1::StoredProfile> profiles) override {
    // Held for the whole batch: all of it or none is seen.
    absl::MutexLock lock(&mutex_);
    int64_t stored = 0;
    // Nothing here can fail, so "all or none" needs no undoing.
    for (const v1::StoredProfile& profile : profiles) {
      const auto [entry, inserted] =
          profiles_.try_emplace({profile.device_fingerprint(), profile.key()}, profile);
      // Not better than itself, so a new one counts once.
      const bool better = profile.has_load_effect() ||
                          profile.profile().samples() > entry->second.profile().samples();
      if (better) entry->second = profile;
      if (inserted || better) ++stored;
    }
    return stored;
  }

  absl::StatusOr<std::vector<v1::StoredProfile>> List(absl::string_view device_fingerprint,
                                                      const ProfilePosition& after,
                                                      int64_t count_max) override {
    absl::MutexLock lock(&mutex_);
    std::vector<v1::StoredProfile> selected;
    for (auto entry = profiles_.upper_bound({after.device_fingerprint, after.key});
         entry != profiles_.end() && static_cast<int64_t>(selected.size()) < count_max; ++entry) {
      if (!device_fingerprint.empty() && entry->first.first != device_fingerprint) continue;
      selected.push_back(entry->second);
    }
    return selected;
  }

  absl::StatusOr<int64_t> DropOldest(int64_t device_max, int64_t all_max) override {
    absl::MutexLock lock(&mutex_);
    std::vector<std::pair<int64_t, ProfileName>> newest_first;
    for (const auto& [name, profile] : profiles_) {
      newest_first.push_back({-profile.measure_time().seconds(), name});
    }
    std::sort(newest_first.begin(), newest_first.end());
    std::map<std::string, int64_t> of_device;
    int64_t kept = 0;
    for (const auto& [age, name] : newest_first) {
      if (of_device[name.first] < device_max && kept < all_max) {
        ++of_device[name.first];
        ++kept;
      } else {
        profiles_.erase(name);
      }
    }
    return static_cast<int64_t>(newest_first.size()) - kept;
  }

  absl::StatusOr<int64_t> Count() override {
    absl::MutexLock lock(&mutex_);
    return static_cast<int64_t>(profiles_.size());
  }

 private:
  absl::Mutex mutex_;
  std::map<ProfileName, v1::StoredProfile> profiles_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

std::unique_ptr<ProfileStore> NewMemoryProfileStore() {
  return std::make_unique<MemoryProfileStore>();
}

}  // namespace plait
