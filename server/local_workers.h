#pragma once

#include <string>

#include "server/config.h"
#include "server/workers/runtime_workers.h"
#include "server/workers/worker_supervisor.h"

// How plaitd starts the workers of its own machine. Pure but for where its program lies, what the
// machine has, and where the loader looks for libraries (LD_LIBRARY_PATH); thread-safe.
namespace plait {

// Where they call, as an address.
std::string WorkerSocket(const std::string& data_dir);

// Of plait-worker, for one of Config::workers.
WorkerSupervisorOptions LocalWorkerOptions(const Config& config, const std::string& device);

// Of the workers of runtimes.
RuntimeWorkersOptions LocalRuntimesOptions(const Config& config);

}  // namespace plait
