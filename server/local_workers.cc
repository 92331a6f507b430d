#include "server/local_workers.h"

#include <algorithm>
#include <cstdlib>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/blob_path.h"
#include "base/machine_cores.h"
#include "base/machine_memory.h"
#include "base/program_folder.h"
#include "base/run_program.h"
#include "proto/wire/names.h"
#include "server/telemetry/log.h"

namespace plait {
namespace {

int64_t WorkerMemoryBytes(const Config& config) {
  return config.worker_memory_bytes > 0 ? config.worker_memory_bytes : MachineMemoryBytes() / 4 * 3;
}

// A worker opens its device's driver and libraries while it runs, and these need not lie where the
// loader looks by itself.
std::vector<std::string> WorkerEnvironment() {
  const char* const path = std::getenv("LD_LIBRARY_PATH");
  if (path == nullptr) return {};
  return {absl::StrCat("LD_LIBRARY_PATH=", path)};
}

std::string WorkerProgram(const Config& config) {
  return config.worker_program.empty() ? absl::StrCat(ProgramFolder(), "/plait-worker")
                                       : config.worker_program;
}

// As a worker finds them: it opens the driver, and the daemon does not.
std::vector<std::string> GpusHere(const Config& config, absl::Duration time_max) {
  ProcessOptions options;
  options.program = WorkerProgram(config);
  options.arguments = {options.program, "--list", kAllGpus};
  options.environment = WorkerEnvironment();
  const absl::StatusOr<FinishedProgram> listed = RunProgram(options, time_max);
  if (listed.ok() && listed->Succeeded()) {
    std::vector<std::string> ids = absl::StrSplit(listed->out, '\n', absl::SkipWhitespace());
    std::erase_if(ids, [](const std::string& id) {
      return !absl::StartsWith(id, "cuda:") || !wire::CheckDeviceId("workers", id).ok();
    });
    if (!ids.empty()) return ids;
  }
  LogInfo("gpu.none", {{"reason", listed.ok() ? LastLine(listed->err)
                                              : std::string(listed.status().message())}});
  return {};
}

}  // namespace

// As an address.
std::string WorkerSocket(const std::string& data_dir) {
  return absl::StrCat("unix:", data_dir, "/worker.sock");
}

WorkerSupervisorOptions LocalWorkerOptions(const Config& config, const std::string& device) {
  WorkerSupervisorOptions options;
  options.program = WorkerProgram(config);
  options.environment = WorkerEnvironment();
  options.device = device;
  options.server_address = WorkerSocket(config.data_dir);
  options.blobs_folder = BlobsFolder(config.data_dir);
  // Those of a processor are assembled in no time.
  if (absl::StartsWith(device, "cuda:")) {
    options.kernel_cache = absl::StrCat(config.data_dir, "/kernels");
  }
  options.start_max = absl::Seconds(config.worker_start_seconds_max);
  options.threads = static_cast<int>(config.worker_threads);
  options.instruction_set = config.worker_instruction_set;
  options.memory_bytes_max = WorkerMemoryBytes(config);
  return options;
}

std::vector<std::string> LocalDevices(const Config& config, absl::Duration list_time_max) {
  std::vector<std::string> devices;
  for (const std::string& device : config.workers) {
    const std::vector<std::string> named =
        device == kAllGpus ? GpusHere(config, list_time_max) : std::vector<std::string>{device};
    for (const std::string& id : named) {
      if (std::find(devices.begin(), devices.end(), id) == devices.end()) devices.push_back(id);
    }
  }
  return devices;
}

RuntimeWorkersOptions LocalRuntimesOptions(const Config& config) {
  RuntimeWorkersOptions options;
  if (config.runtimes_python != "none") options.interpreter = config.runtimes_python;
  options.package_path = PythonPackagesOf(ProgramFolder());
  options.server_address = WorkerSocket(config.data_dir);
  const auto threads = static_cast<int>(config.worker_threads);
  options.threads = threads > 0 ? threads : MachineCores();
  options.memory_bytes_max = WorkerMemoryBytes(config);
  options.start_max = absl::Seconds(config.worker_start_seconds_max);
  return options;
}

}  // namespace plait
