#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "base/clock.h"
#include "server/services/event_hub.h"
#include "server/telemetry/metrics.h"
#include "server/workers/worker_pool.h"
#include "storage/stores.h"

namespace plait {

// What all services work with; all of it must outlive them.
struct ServiceContext {
  Stores& stores;
  WorkerPool& pool;
  Metrics& metrics;
  Clock& clock;
  EventHub& events;
  std::string version;
  std::string engine_version;
  // Devices of this daemon's own workers: they can be named even while a worker restarts.
  std::vector<std::string> local_devices;
  int64_t tenant_queued_jobs_max = 0;
  absl::Time started_at;
  std::atomic<bool>& draining;
};

}  // namespace plait
