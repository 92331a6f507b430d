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
// with a digest of the sources of search, kernels and server. Plans hold for all builds of a
// release.
std::string EngineVersion();

// All of plaitd: storage, services, workers and the jobs that run. Not thread-safe.
class Server {
 public:
  // Returns when everything serves. `clock` must outlive the server.
  // Errors: those of OpenStores, StartRpcListener and HttpEndpoint::Start.
  static absl::StatusOr<std::unique_ptr<Server>> Start(const Config& config, Clock& clock);
  // Stops at once: running jobs go back into the queue.
  ~Server();

  // Addresses in use, as "host:port" or "unix:path"; empty when there is none.
  const std::string& address() const;
  const std::string& metrics_address() const;

  // Updates what is sampled: gauges, silent workers. Called about once a second.
  void Tick();

  // True when an administrator drained the server and nothing runs any more.
  bool IsDrained();

 private:
  struct Parts;
  explicit Server(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace plait
