#include "base/process.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/file_descriptor.h"
#include "base/status_macros.h"

namespace plait {
namespace {

// 20 ms: how often a child is looked at that is about to end.
constexpr absl::Duration kPollInterval = absl::Milliseconds(20);

// What the child needs between fork and exec, made before the fork: in between, only calls are
// allowed that are safe in a signal handler, since another thread may have held any lock.
struct Prepared {
  int error = 0;  // why it could not be prepared: there are no more descriptors
  const char* program = nullptr;
  std::vector<char*> arguments;
  std::vector<char*> environment;  // empty: this process's own
  std::vector<PlacedDescriptor> descriptors;
  std::vector<FileDescriptor> owners;  // of the copies that are placed
  int descriptors_end = 0;             // no open file of ours has this number or a higher one
  int errors = -1;  // a pipe: takes the error number when the program cannot be run
  pid_t parent = 0;
};

// Pointers for exec. `texts` must outlive them.
std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  // exec does not write through them; its type is older than const.
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

void CloseAtExecFrom(int first, int end) {
  if (close_range(static_cast<unsigned>(first), ~0U, CLOSE_RANGE_CLOEXEC) == 0) return;
  // Kernels before 5.11 and some sandboxes do not have that call.
  for (int descriptor = first; descriptor < end; ++descriptor) {
    fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  }
}

// In the child. Returns only when the program cannot be run.
void Exec(const Prepared& prepared) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The parent may have died before the kernel was told.
  if (getppid() != prepared.parent) _exit(127);
  setsid();
  // Handlers first: none of ours may run here once signals come through.
  for (int number = 1; number < NSIG; ++number) signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  CloseAtExecFrom(STDERR_FILENO + 1, prepared.descriptors_end);
  for (const PlacedDescriptor& placed : prepared.descriptors) {
    if (dup2(placed.descriptor, placed.target) < 0) return;
  }
  execve(prepared.program, prepared.arguments.data(),
         prepared.environment.empty() ? environ : prepared.environment.data());
}

[[noreturn]] void RunChild(const Prepared& prepared) {
  Exec(prepared);
  const int error = errno;
  // When nobody reads it any more, there is nobody to tell.
  if (write(prepared.errors, &error, sizeof(error)) < 0) _exit(126);
  _exit(127);
}

// `descriptors` with /dev/null for standard input and output where they are not placed.
std::vector<PlacedDescriptor> WithStandardFiles(std::vector<PlacedDescriptor> descriptors,
                                                int null_file) {
  for (const int target : {STDIN_FILENO, STDOUT_FILENO}) {
    if (std::none_of(descriptors.begin(), descriptors.end(),
                     [&](const PlacedDescriptor& placed) { return placed.target == target; })) {
      descriptors.push_back({null_file, target});
    }
  }
  return descriptors;
}

int DescriptorsEnd() {
  rlimit limit = {};
  // 65536: where the limit is "as many as you like", real numbers are small all the same.
  constexpr rlim_t kEndMax = 65536;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return static_cast<int>(kEndMax);
  return static_cast<int>(std::min(limit.rlim_cur, kEndMax));
}

// `null_file` and `errors` are open files. Options must outlive what is returned.
Prepared PreparedFor(const ProcessOptions& options, int null_file, int errors) {
  Prepared prepared;
  prepared.program = options.program.c_str();
  prepared.arguments = Pointers(options.arguments);
  if (options.environment) prepared.environment = Pointers(*options.environment);
  // Copies above all targets, so that no file is overwritten before it was placed.
  int copies_begin = STDERR_FILENO + 1;
  for (const PlacedDescriptor& placed : options.descriptors) {
    copies_begin = std::max(copies_begin, placed.target + 1);
  }
  const auto copy = [&](int descriptor) {
    const int number = fcntl(descriptor, F_DUPFD_CLOEXEC, copies_begin);
    if (number < 0 && prepared.error == 0) prepared.error = errno;
    prepared.owners.emplace_back(number);
    return number;
  };
  for (const PlacedDescriptor& placed : WithStandardFiles(options.descriptors, null_file)) {
    prepared.descriptors.push_back({copy(placed.descriptor), placed.target});
  }
  prepared.errors = copy(errors);
  prepared.descriptors_end = DescriptorsEnd();
  prepared.parent = getpid();
  return prepared;
}

// The error number that comes through the pipe; 0 when it closes without one, as it does when the
// program runs.
int ReadError(int pipe) {
  int error = 0;
  ssize_t count = 0;
  do {
    count = read(pipe, &error, sizeof(error));
  } while (count < 0 && errno == EINTR);
  return count > 0 ? error : 0;
}

// `reaped`: what waitpid returned.
ProcessEnd EndOf(pid_t reaped, int state) {
  // Nobody knows: the kernel has reaped it, as it does where SIGCHLD is ignored.
  if (reaped < 0) return {.exit_code = kExitUnknown, .signal = 0};
  if (WIFSIGNALED(state)) return {.exit_code = 0, .signal = WTERMSIG(state)};
  return {.exit_code = WEXITSTATUS(state), .signal = 0};
}

// waitpid that is not disturbed by signals.
pid_t Reap(pid_t id, int* state, int flags) {
  pid_t reaped = 0;
  do {
    reaped = waitpid(id, state, flags);
  } while (reaped < 0 && errno == EINTR);
  return reaped;
}

}  // namespace

absl::StatusOr<Process> Process::Start(const ProcessOptions& options) {
  const auto failed = [&](int error) {
    return absl::UnavailableError(
        absl::StrCat(options.program, " cannot be started: ", std::strerror(error)));
  };
  const FileDescriptor null_file(open("/dev/null", O_RDWR | O_CLOEXEC));
  int pipes[2];
  if (!null_file.is_open() || pipe2(pipes, O_CLOEXEC) != 0) return failed(errno);
  const FileDescriptor errors_read(pipes[0]);
  FileDescriptor errors_written(pipes[1]);
  pid_t id = 0;
  {
    const Prepared prepared = PreparedFor(options, null_file.number(), errors_written.number());
    errors_written = FileDescriptor();
    if (prepared.error != 0) return failed(prepared.error);
    // fork and not posix_spawn, because the death signal is set between fork and exec. It costs a
    // copy of the page tables of what is resident.
    id = fork();
    if (id == 0) RunChild(prepared);
    if (id < 0) return failed(errno);
  }
  const int error = ReadError(errors_read.number());
  if (error == 0) return Process(id);
  Reap(id, nullptr, 0);
  return failed(error);
}

Process::~Process() {
  if (id_ > 0) Kill();
}

std::optional<ProcessEnd> Process::Poll() {
  PLAIT_CHECK(id_ > 0);
  int state = 0;
  const pid_t reaped = Reap(id_, &state, WNOHANG);
  if (reaped == 0) return std::nullopt;
  id_ = 0;
  return EndOf(reaped, state);
}

std::optional<ProcessEnd> Process::Await(absl::Duration time_max) {
  const absl::Time end = absl::Now() + time_max;
  while (true) {
    if (const std::optional<ProcessEnd> ended = Poll()) return ended;
    if (absl::Now() >= end) return std::nullopt;
    absl::SleepFor(kPollInterval);
  }
}

ProcessEnd Process::Kill() {
  // The id of one that nobody has to reap may be another's by now.
  if (const std::optional<ProcessEnd> ended = Poll()) return *ended;
  kill(id_, SIGKILL);
  int state = 0;
  const pid_t reaped = Reap(id_, &state, 0);
  id_ = 0;
  return EndOf(reaped, state);
}

void Process::Signal(int signal) const {
  PLAIT_CHECK(id_ > 0);
  kill(id_, signal);
}

}  // namespace plait
