#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "base/clock.h"
#include "server/services/event_hub.h"
#include "server/services/method.h"
#include "server/telemetry/metrics.h"
#include "server/workers/worker_pool.h"
#include "storage/stores.h"

namespace plait {

// What all services of one listener work with. The references are to parts of the server, all of
// which are thread-safe and must outlive the services; the rest is constant.
struct ServiceContext {
  Stores& stores;
  WorkerPool& pool;
  Metrics& metrics;
  Clock& clock;
  // Told of every change of a job; ends the watchers' waits.
  EventHub& events;
  // As CapabilityService tells them to clients.
  std::string version;
  std::string engine_version;
  // Devices of this daemon's own workers: they can be named even while a worker restarts.
  std::vector<std::string> local_devices;
  // Jobs of one tenant that may wait; more are refused.
  int64_t tenant_queued_jobs_max = 0;
  absl::Time started_at;
  // Set for good by an administrator or when the server stops: no new jobs are taken.
  std::atomic<bool>& draining;
  // What the listener says of whoever calls. One that serves workers only says so here.
  Roles caller_roles = kAllRoles;
};

}  // namespace plait
