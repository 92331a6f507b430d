#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"

namespace plait {

// How many streams may be open at a time. Each one holds a thread of the server for as long as its
// client likes, so one client could take all of them. Thread-safe.
class StreamSlots {
 public:
  // An open stream; closed when this object dies. Movable.
  class Slot {
   public:
    Slot(StreamSlots& slots, std::string tenant) : slots_(&slots), tenant_(std::move(tenant)) {}
    ~Slot();
    Slot(Slot&& other) noexcept
        : slots_(std::exchange(other.slots_, nullptr)), tenant_(std::move(other.tenant_)) {}
    Slot& operator=(Slot&&) = delete;

   private:
    StreamSlots* slots_;
    std::string tenant_;
  };

  // `streams_max` of all tenants together, `tenant_streams_max` of each.
  StreamSlots(int64_t streams_max, int64_t tenant_streams_max)
      : streams_max_(streams_max), tenant_streams_max_(tenant_streams_max) {}

  // Opens a stream of the tenant. The slots must outlive it.
  // Errors: ResourceExhausted (QUOTA_EXCEEDED) naming the limit.
  absl::StatusOr<Slot> Open(absl::string_view tenant);

  // Those that are open now, of all tenants.
  int64_t open();

 private:
  void Close(const std::string& tenant);

  const int64_t streams_max_;
  const int64_t tenant_streams_max_;
  absl::Mutex mutex_;
  int64_t open_ ABSL_GUARDED_BY(mutex_) = 0;
  // Of tenants with open streams only, so that names cost nothing once their streams are closed.
  absl::flat_hash_map<std::string, int64_t> open_of_tenant_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plait
