#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "server/config.h"

namespace plait {

// "0.1.0".
std::string Version();
// The name of everything that a result depends on besides its inputs: "plait-0.1.0+1f0c39a2d47e",
// with a digest of the sources of search and kernels. Plans hold for all builds of a
// release.
std::string EngineVersion();

// Map of this folder: main and command_line, config, config_file (how it is set up); server (what
// there is and in which order it starts and ends: storage, jobs, listeners, workers); rpc_listener
// with rpc_credentials, and http_endpoint (the doors); storage_upkeep (counting and garbage); jobs,
// workers, services, telemetry and search_child, a room each.
//
// All of plaitd: storage, services, workers and the jobs that run. Not thread-safe.
class Server {
 public:
  // Returns when everything serves. `clock` must outlive the server.
  // Errors: those of OpenStores, StartRpcListener and HttpEndpoint::Start.
  // Jobs that ran when the last daemon of the directory died are queued again before any call is
  // answered, so that no client sees them RUNNING with nobody at work.
  static absl::StatusOr<std::unique_ptr<Server>> Start(const Config& config, Clock& clock);
  // Stops at once: running jobs go back into the queue.
  // Ends watchers' waits first, then jobs and workers, then the listeners with a few seconds for
  // calls that are being answered. What was acknowledged is on disk already; events that were not
  // are flushed last.
  ~Server();

  // Addresses in use, as "host:port" or "unix:path"; empty when there is none. For clients, for
  // workers of other hosts, for metrics, and for the health alone.
  std::string address() const;
  std::string worker_address() const;
  std::string metrics_address() const;
  std::string health_address() const;

  // Updates what is sampled: gauges, silent workers. Called about once a second.
  // A fault of the storage leaves the gauges as they were.
  void Tick();

  // True when an administrator drained the server and nothing runs any more.
  bool IsDrained();

 private:
  struct Parts;
  explicit Server(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace plait
