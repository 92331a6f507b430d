#include "server/workers/worker_supervisor.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <utility>
#include <vector>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "server/telemetry/log.h"

namespace plait {
namespace {

constexpr absl::Duration kCheckInterval = absl::Milliseconds(100);

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
  const pid_t process_id = Spawn(worker_id);
  if (process_id == 0) return false;
  LogInfo("worker.started", {{"worker", worker_id}, {"device", options_.device}});
  const absl::Duration began = clock_.Monotonic();
  bool was_heard = false;
  int state = 0;
  while (waitpid(process_id, &state, WNOHANG) == 0) {
    const std::optional<absl::Duration> heard = pool_.HeardAt(worker_id);
    was_heard |= heard.has_value();
    const bool is_silent = clock_.Monotonic() - heard.value_or(began) > options_.silence_max;
    if (!Pause(kCheckInterval) || is_silent) {
      if (is_silent) LogWarning("worker.hung", {{"worker", worker_id}});
      kill(process_id, SIGKILL);
      waitpid(process_id, &state, 0);
      break;
    }
  }
  {
    absl::MutexLock lock(&mutex_);
    process_id_ = 0;
  }
  pool_.DropWorker(worker_id);
  LogWarning("worker.ended",
             {{"worker", worker_id},
              {"signal", absl::StrCat(WIFSIGNALED(state) ? WTERMSIG(state) : 0)},
              {"exit_code", absl::StrCat(WIFEXITED(state) ? WEXITSTATUS(state) : 0)}});
  return was_heard;
}

pid_t WorkerSupervisor::Spawn(const std::string& worker_id) {
  std::vector<std::string> arguments = {
      options_.program,        "--device", options_.device, "--server",
      options_.server_address, "--id",     worker_id,       "--parent",
      absl::StrCat(getpid())};
  if (options_.threads > 0) {
    arguments.push_back("--threads");
    arguments.push_back(absl::StrCat(options_.threads));
  }
  // Threads that spin between parallel regions make short kernels fast. They are not bound to
  // cores: that would bind the main thread, too, and the worker would take its one core for all
  // there are.
  std::vector<std::string> environment = {"OMP_WAIT_POLICY=active", "OMP_DYNAMIC=false"};
  if (options_.threads > 0) {
    environment.push_back(absl::StrCat("OMP_NUM_THREADS=", options_.threads));
  }
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  std::vector<char*> envp;
  for (std::string& variable : environment) envp.push_back(variable.data());
  envp.push_back(nullptr);

  posix_spawnattr_t attributes;
  posix_spawn_file_actions_t actions;
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_init(&actions);
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
  // Standard output is the daemon's interface.
  posix_spawn_file_actions_adddup2(&actions, 2, 1);
  posix_spawn_file_actions_addclosefrom_np(&actions, 3);
  pid_t process_id = 0;
  const int error = posix_spawn(&process_id, options_.program.c_str(), &actions, &attributes,
                                argv.data(), envp.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    LogError("worker.missing", {{"program", options_.program}, {"error", strerror(error)}});
    return 0;
  }
  absl::MutexLock lock(&mutex_);
  process_id_ = process_id;
  return process_id;
}

bool WorkerSupervisor::Pause(absl::Duration duration) {
  absl::MutexLock lock(&mutex_);
  const auto is_stopping = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stopping_; };
  return !mutex_.AwaitWithTimeout(absl::Condition(&is_stopping), duration);
}

}  // namespace plait
