#pragma once

#include "absl/time/time.h"
#include "base/clock.h"
#include "server/telemetry/metrics.h"
#include "storage/stores.h"

namespace plait {

// What a daemon does for its storage from time to time: counts what is stored, and deletes blobs
// that no job needs and uploads that nobody continued. A fault of the storage is logged, and what
// was due is tried again when it is due again. Not thread-safe.
class StorageUpkeep {
 public:
  // What is passed must outlive this object.
  // Nothing happens until the first Tick.
  StorageUpkeep(Stores& stores, Metrics& metrics, Clock& clock)
      : stores_(stores), metrics_(metrics), clock_(clock) {}

  // Does what is due; called about once per second.
  void Tick();

 private:
  // Without an answer of the storage the gauges stay as they were.
  void Count();
  // The order is what makes it safe: the moment is taken, then the list of needed blobs is read,
  // then those are deleted that are not in it and were unused before the moment.
  void CollectGarbage();

  Stores& stores_;
  Metrics& metrics_;
  Clock& clock_;
  // Due at the first Tick.
  absl::Duration next_count_ = -absl::InfiniteDuration();
  absl::Duration next_collection_ = -absl::InfiniteDuration();
};

}  // namespace plait
