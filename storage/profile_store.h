#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/limits.h"
#include "plait/v1/profile.pb.h"

namespace plait {

// A profile's name, which need not exist. A listing continues after it; empty: from the start.
struct ProfilePosition {
  std::string device_fingerprint;
  std::string key;
};

// How many profiles there may be, and how many bytes they may take: those of the stored messages,
// keys included.
struct ProfileLimit {
  int64_t count = 0;
  int64_t bytes = 0;
};

// Of one device: 128 MiB, at 1.3 KiB each. A search is given all of them at its start, in a message
// that may have twice as much (kFrameBytesMax). And of all devices: ten such.
constexpr ProfileLimit kDeviceProfilesMax = {kProfilesPerDeviceMax, int64_t{128} << 20};
constexpr ProfileLimit kAllProfilesMax = {kProfilesMax, int64_t{1280} << 20};

// Measured kernel times by (device fingerprint, key). They can be measured again, so the last ones
// may be lost with the power; none is ever changed by it. Thread-safe. Every method can also fail
// with Unavailable (the storage failed), ResourceExhausted (the disk is full) or DataLoss.
// A profile is a fact about a device and code, not about a job: all tenants' searches read it.
class ProfileStore {
 public:
  virtual ~ProfileStore() = default;

  // Stores all or, on an error, none. A profile that is there is replaced only by one with more
  // samples that count (wire::SamplesThatCount), or with as many and measured later. Returns how
  // many were new or better.
  // REQUIRES: checked by proto/wire.
  // More samples win, because a median of few is noise, and none of a moment that was not steady. A
  // load effect always replaces the older one, which it was made of.
  virtual absl::StatusOr<int64_t> Put(absl::Span<const v1::StoredProfile> profiles) = 0;

  // At most `count_max` profiles after `after`, ordered by fingerprint and key; of one device when
  // `device_fingerprint` is not empty.
  virtual absl::StatusOr<std::vector<v1::StoredProfile>> List(absl::string_view device_fingerprint,
                                                              const ProfilePosition& after,
                                                              int64_t count_max) = 0;

  // The profiles of a device that were measured last, as many as fit into `limit`; those of one
  // second by their keys. Ordered by key.
  virtual absl::StatusOr<std::vector<v1::StoredProfile>> ListNewest(
      absl::string_view device_fingerprint, const ProfileLimit& limit) = 0;

  // Removes these profiles, as far as they are there. Returns how many were.
  virtual absl::StatusOr<int64_t> Drop(absl::Span<const ProfilePosition> profiles) = 0;

  // Removes the profiles that were measured first, until no device has more than `device_max` and
  // there are at most `all_max` in all. Returns how many.
  virtual absl::StatusOr<int64_t> DropOldest(const ProfileLimit& device_max,
                                             const ProfileLimit& all_max) = 0;

  // How many profiles there are, of all devices.
  virtual absl::StatusOr<int64_t> Count() = 0;
};

}  // namespace plait
