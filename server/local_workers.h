#pragma once

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "server/config.h"
#include "server/workers/runtime_workers.h"
#include "server/workers/worker_supervisor.h"

// How plaitd starts the workers of its own machine. Pure but for where its program lies, what the
// machine has, and where the loader looks for libraries (LD_LIBRARY_PATH); thread-safe.
namespace plait {

// Where they call, as an address.
std::string WorkerSocket(const std::string& data_dir);

// The devices that Config::workers means, each once: with every GPU that plait-worker finds where
// it says kAllGpus. Asks it, for at most `list_time_max`: a driver that was not in use takes
// seconds to begin, and one that hangs shall not keep the processor from its work.
std::vector<std::string> LocalDevices(const Config& config,
                                      absl::Duration list_time_max = absl::Seconds(20));

// Of plait-worker, for one of them.
WorkerSupervisorOptions LocalWorkerOptions(const Config& config, const std::string& device);

// Of the workers of runtimes.
RuntimeWorkersOptions LocalRuntimesOptions(const Config& config);

}  // namespace plait
