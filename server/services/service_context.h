#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "base/clock.h"
#include "server/services/event_hub.h"
#include "server/services/method.h"
#include "server/services/request_memory.h"
#include "server/services/stream_deadlines.h"
#include "server/services/stream_slots.h"
#include "server/telemetry/metrics.h"
#include "server/workers/runtimes.h"
#include "server/workers/worker_pool.h"
#include "storage/stores.h"

namespace plait {

// Map of this folder: a handler per service of the protos (optimization, blob, profile, capability,
// admin, worker), each of which checks a request and calls the parts of the server; handlers (all
// of them); method (which RPCs there are and who may call them, from methods.def); rpc_scope (what
// every RPC does around its handler); weighed_service (how gRPC reaches the handlers) and
// request_memory (what requests may take); stream_slots (how many may watch, upload and download)
// and stream_deadlines (how long one may wait for its other end); event_hub (how watchers wait).
// Handlers keep no state between calls: what a client was told is in the stores.
//
// Handlers run on gRPC's threads, many at a time, and hold no lock while they wait for storage.
//
// What all services of one gRPC server work with. The references are to parts of the server, all of
// which are thread-safe and must outlive the services; the rest is constant.
// A test makes one of parts of its own: every service runs in process without a listener.
struct ServiceContext {
  // Durable; answers only after its commit.
  Stores& stores;
  // Lives in memory: what a handler reads of it may be over in the next moment.
  WorkerPool& pool;
  Metrics& metrics;
  Clock& clock;
  // Told of every change of a job; ends the watchers' waits.
  EventHub& events;
  // Streams of this server's callers; taken before a stream's first message.
  StreamSlots& streams;
  // Every read and write of a stream is awaited by it.
  StreamDeadlines& stream_deadlines;
  // Every request is parsed by it.
  RequestMemory& request_memory;
  // As CapabilityService tells them to clients.
  std::string version;
  std::string engine_version;
  std::vector<std::string> warnings;
  // Devices of this daemon's own workers: they can be named even while a worker restarts.
  std::vector<std::string> local_devices;
  // Of this machine; may be null: there are none.
  Runtimes* runtimes = nullptr;
  // Jobs of one tenant that may wait; more are refused.
  // Checked without a lock around check and submission: calls at the same moment may pass it by one
  // each. The limit of the whole queue is the store's, and exact.
  int64_t tenant_queued_jobs_max = 0;
  // What unfinished uploads of all tenants may take; 0: no limit.
  int64_t uploads_bytes_max = 0;
  absl::Time started_at;
  // Set for good by an administrator or when the server stops: no new jobs are taken.
  // A submission that has passed the check is still acknowledged, and its job is in the store for
  // the next daemon.
  std::atomic<bool>& draining;
  // What the server says of whoever calls it; nobody may call anything until it is said.
  Roles caller_roles = {};
};

}  // namespace plait
