#include "server/workers/worker_supervisor.h"

#include <algorithm>
#include <fstream>
#include <optional>
#include <string>
#include <utility>

#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "server/telemetry/log.h"

namespace plait {
namespace {

// 100 ms: a dead worker is noticed soon, and looking costs one waitpid.
constexpr absl::Duration kCheckInterval = absl::Milliseconds(100);

// The memory that a process has now and the system could not take back, which it may of the pages
// of mapped files; 0 when it has gone.
int64_t ResidentBytes(pid_t process_id) {
  std::ifstream file(absl::StrCat("/proc/", process_id, "/status"));
  int64_t kilobytes = 0;
  for (std::string name; file >> name;) {
    int64_t count = 0;
    if ((name == "RssAnon:" || name == "RssShmem:") && file >> count) kilobytes += count;
  }
  return kilobytes * 1024;
}

}  // namespace

WorkerSupervisor::WorkerSupervisor(WorkerPool& pool, Clock& clock, WorkerSupervisorOptions options)
    : pool_(pool), clock_(clock), options_(std::move(options)), thread_([this] { Run(); }) {}

WorkerSupervisor::~WorkerSupervisor() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  thread_.join();
}

pid_t WorkerSupervisor::process_id() {
  absl::MutexLock lock(&mutex_);
  return process_id_;
}

void WorkerSupervisor::Run() {
  absl::Duration backoff = options_.backoff_min;
  for (int number = 1;; ++number) {
    const bool was_useful = RunWorker(number);
    if (was_useful) backoff = options_.backoff_min;
    if (!Pause(backoff)) return;
    backoff = std::min(backoff * 2, options_.backoff_max);
    if (options_.restarted) options_.restarted();
  }
}

bool WorkerSupervisor::RunWorker(int start_number) {
  // A new id for each life, so that a task of the last one cannot be taken for this one's.
  const std::string worker_id =
      absl::StrCat("local-", options_.device, "-", getpid(), "-", start_number);
  absl::StatusOr<Process> process = Process::Start(WorkerProcess(worker_id));
  if (!process.ok()) {
    LogError("worker.missing",
             {{"program", options_.program}, {"error", process.status().message()}});
    return false;
  }
  const absl::Duration began = clock_.Monotonic();
  SetProcessId(process->id());
  LogInfo("worker.started", {{"worker", worker_id}, {"device", options_.device}});
  bool was_heard = false;
  absl::Status task_error;
  std::optional<ProcessEnd> end;
  while (!(end = process->Poll())) {
    // The pool forgets workers that it takes for dead, and then the start counts, which was long
    // ago.
    const std::optional<absl::Duration> heard = pool_.HeardAt(worker_id);
    was_heard |= heard.has_value();
    const absl::Duration now = clock_.Monotonic();
    const absl::Duration silence_max = was_heard ? options_.silence_max : options_.start_max;
    const bool is_silent = now - heard.value_or(began) > silence_max;
    // It calls, but cannot leave what it does: a kernel that never ends.
    const bool is_stuck =
        now - pool_.UnwantedSince(worker_id).value_or(now) > options_.unwanted_max;
    if (is_silent || is_stuck) LogWarning("worker.hung", {{"worker", worker_id}});
    task_error = CheckMemory(process->id());
    if (!Pause(kCheckInterval) || is_silent || is_stuck || !task_error.ok()) {
      end = process->Kill();
      break;
    }
  }
  SetProcessId(0);
  // Only now that it is dead: its task must not run twice on one device at the same time.
  pool_.DropWorker(worker_id, task_error);
  LogWarning("worker.ended", {{"worker", worker_id},
                              {"signal", absl::StrCat(end->signal)},
                              {"exit_code", absl::StrCat(end->exit_code)},
                              {"error", task_error.message()}});
  return was_heard;
}

absl::Status WorkerSupervisor::CheckMemory(pid_t process_id) const {
  const int64_t bytes_max = options_.memory_bytes_max;
  if (bytes_max == 0 || ResidentBytes(process_id) <= bytes_max) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("the task takes more memory than a worker of this server may have, ", bytes_max,
                   " bytes (worker_memory_bytes)"));
}

ProcessOptions WorkerSupervisor::WorkerProcess(const std::string& worker_id) const {
  ProcessOptions process;
  process.program = options_.program;
  process.arguments = {options_.program};
  const auto add = [&](const std::vector<std::string>& words) {
    process.arguments.insert(process.arguments.end(), words.begin(), words.end());
  };
  add(options_.program_arguments);
  add({"--device", options_.device, "--server", options_.server_address, "--id", worker_id,
       "--parent", absl::StrCat(getpid())});
  if (!options_.blobs_folder.empty()) {
    process.arguments.push_back("--blobs");
    process.arguments.push_back(options_.blobs_folder);
  }
  if (!options_.kernel_cache.empty()) {
    process.arguments.push_back("--kernel-cache");
    process.arguments.push_back(options_.kernel_cache);
  }
  if (options_.threads > 0) {
    process.arguments.push_back("--threads");
    process.arguments.push_back(absl::StrCat(options_.threads));
  }
  if (!options_.instruction_set.empty()) {
    process.arguments.push_back("--instruction-set");
    process.arguments.push_back(options_.instruction_set);
  }
  // So that it refuses what it can foresee, and need not be killed for it.
  if (options_.memory_bytes_max > 0) {
    process.arguments.push_back("--memory-bytes");
    process.arguments.push_back(absl::StrCat(options_.memory_bytes_max));
  }
  // Nothing of the daemon's own is the worker's to see.
  process.environment = options_.environment;
  // What it prints goes to the log: standard output is the daemon's interface.
  process.descriptors = {{STDERR_FILENO, STDOUT_FILENO}};
  return process;
}

void WorkerSupervisor::SetProcessId(pid_t process_id) {
  absl::MutexLock lock(&mutex_);
  process_id_ = process_id;
}

bool WorkerSupervisor::Pause(absl::Duration duration) {
  absl::MutexLock lock(&mutex_);
  const auto is_stopping = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stopping_; };
  return !mutex_.AwaitWithTimeout(absl::Condition(&is_stopping), duration);
}

}  // namespace plait
