#include "storage/memory/profile_store.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/synchronization/mutex.h"
#include "proto/wire/profile.h"

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
      const bool better = profile.has_load_effect() || IsBetter(profile, entry->second);
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

  absl::StatusOr<std::vector<v1::StoredProfile>> ListNewest(absl::string_view device_fingerprint,
                                                            const ProfileLimit& limit) override {
    absl::MutexLock lock(&mutex_);
    ProfileLimit used;
    std::vector<v1::StoredProfile> selected;
    for (const ProfileName& name : NewestFirst()) {
      if (name.first != device_fingerprint) continue;
      if (!Add(profiles_.at(name), limit, used)) break;
      selected.push_back(profiles_.at(name));
    }
    std::sort(selected.begin(), selected.end(),
              [](const auto& a, const auto& b) { return a.key() < b.key(); });
    return selected;
  }

  absl::StatusOr<int64_t> Drop(absl::Span<const ProfilePosition> profiles) override {
    absl::MutexLock lock(&mutex_);
    int64_t dropped = 0;
    for (const auto& [fingerprint, key] : profiles) {
      dropped += static_cast<int64_t>(profiles_.erase({fingerprint, key}));
    }
    return dropped;
  }

  absl::StatusOr<int64_t> DropOldest(const ProfileLimit& device_max,
                                     const ProfileLimit& all_max) override {
    absl::MutexLock lock(&mutex_);
    std::map<std::string, ProfileLimit> of_device;
    ProfileLimit of_all;
    int64_t dropped = 0;
    for (const ProfileName& name : NewestFirst()) {
      const v1::StoredProfile& profile = profiles_.at(name);
      if (Add(profile, device_max, of_device[name.first]) && Add(profile, all_max, of_all)) {
        continue;
      }
      profiles_.erase(name);
      ++dropped;
    }
    return dropped;
  }

  absl::StatusOr<int64_t> Count() override {
    absl::MutexLock lock(&mutex_);
    return static_cast<int64_t>(profiles_.size());
  }

 private:
  static bool IsBetter(const v1::StoredProfile& profile, const v1::StoredProfile& than) {
    const auto worth = [](const v1::StoredProfile& of) {
      return std::pair(wire::SamplesThatCount(of.profile()), of.measure_time().seconds());
    };
    return worth(profile) > worth(than);
  }

  // Counts it among those that came before; false when that is more than may be.
  static bool Add(const v1::StoredProfile& profile, const ProfileLimit& limit, ProfileLimit& used) {
    used.count += 1;
    used.bytes += static_cast<int64_t>(profile.ByteSizeLong());
    return used.count <= limit.count && used.bytes <= limit.bytes;
  }

  std::vector<ProfileName> NewestFirst() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    std::vector<ProfileName> names;
    for (const auto& [name, profile] : profiles_) names.push_back(name);
    // Stable: those of one second stay in the order of their names.
    const auto is_newer = [&](const ProfileName& a, const ProfileName& b) {
      return profiles_.at(a).measure_time().seconds() > profiles_.at(b).measure_time().seconds();
    };
    std::stable_sort(names.begin(), names.end(), is_newer);
    return names;
  }

  absl::Mutex mutex_;
  std::map<ProfileName, v1::StoredProfile> profiles_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

std::unique_ptr<ProfileStore> NewMemoryProfileStore() {
  return std::make_unique<MemoryProfileStore>();
}

}  // namespace plait
