#include "client/embedded_server.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "client/file.h"

namespace plait {
namespace {

// 30 s: opening a large store after a power loss takes seconds, a server that hangs takes forever.
constexpr absl::Duration kStartTimeout = absl::Seconds(30);
// 10 s: stopping ends running measurements and closes the store.
constexpr absl::Duration kStopTimeout = absl::Seconds(10);
// 20 ms: how often a child is looked at that is about to end.
constexpr absl::Duration kPollInterval = absl::Milliseconds(20);

// Runs in the child, where only calls are allowed that are safe after fork.
[[noreturn]] void RunServer(char* const* arguments, int output, int log, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  // A session of its own: Ctrl-C is this program's to handle.
  setsid();
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const int nothing = open("/dev/null", O_RDONLY);
  dup2(nothing, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  execv(arguments[0], arguments);
  const char* const reason = strerror(errno);
  if (write(STDERR_FILENO, reason, strlen(reason)) < 0) _exit(126);
  _exit(127);
}

std::string LastLine(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadFile(path);
  if (!text.ok()) return "";
  std::string last;
  for (const absl::string_view line : absl::StrSplit(*text, '\n', absl::SkipWhitespace())) {
    last = std::string(line);
  }
  return last;
}

}  // namespace

absl::StatusOr<std::unique_ptr<EmbeddedServer>> EmbeddedServer::Start(const Options& options,
                                                                      std::ostream& messages) {
  auto server = std::make_unique<EmbeddedServer>();
  PLAIT_RETURN_IF_ERROR(MakeFolders(options.cache_folder));
  server->socket_path_ = absl::StrCat(options.cache_folder, "/plaitd.socket");
  server->log_path_ = absl::StrCat(options.cache_folder, "/plaitd.log");
  server->address_ = absl::StrCat("unix:", server->socket_path_);
  if (server->socket_path_.size() >= sizeof(sockaddr_un::sun_path)) {
    return absl::InvalidArgumentError(absl::StrCat(
        options.cache_folder, ": the path is too long for a socket (use a shorter --cache-dir)"));
  }
  if (access(options.program.c_str(), X_OK) != 0) {
    return absl::UnavailableError(absl::StrCat(
        options.program, ": not found (install plaitd beside plait, or use --server)"));
  }
  PLAIT_RETURN_IF_ERROR(server->Lock(options, messages));
  PLAIT_RETURN_IF_ERROR(server->Spawn(options));
  PLAIT_RETURN_IF_ERROR(server->AwaitListening());
  return server;
}

absl::Status EmbeddedServer::Lock(const Options& options, std::ostream& messages) {
  const std::string path = absl::StrCat(options.cache_folder, "/plait.lock");
  lock_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock_ < 0) return absl::ErrnoToStatus(errno, path);
  if (flock(lock_, LOCK_EX | LOCK_NB) == 0) return absl::OkStatus();
  if (errno != EWOULDBLOCK) return absl::ErrnoToStatus(errno, path);
  messages << "waiting for another plait that uses " << options.cache_folder << "\n";
  messages.flush();
  while (flock(lock_, LOCK_EX) != 0) {
    if (errno != EINTR) return absl::ErrnoToStatus(errno, path);
  }
  return absl::OkStatus();
}

absl::Status EmbeddedServer::Spawn(const Options& options) {
  std::vector<std::string> words = {
      options.program, "--data-dir",  absl::StrCat(options.cache_folder, "/data"),
      "--listen",      address_,      "--insecure",
      "--workers",     options.device};
  if (options.threads > 0) {
    words.push_back("--worker-threads");
    words.push_back(absl::StrCat(options.threads));
  }
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const int log = open(log_path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (log < 0) return absl::ErrnoToStatus(errno, log_path_);
  int output[2];
  if (pipe2(output, O_CLOEXEC) != 0) {
    close(log);
    return absl::ErrnoToStatus(errno, "pipe");
  }
  const pid_t parent = getpid();
  process_ = fork();
  if (process_ == 0) RunServer(arguments.data(), output[1], log, parent);
  close(log);
  close(output[1]);
  output_ = output[0];
  if (process_ < 0) return absl::UnavailableError("no process for plaitd can be started");
  return absl::OkStatus();
}

absl::Status EmbeddedServer::AwaitListening() {
  const absl::Time end = absl::Now() + kStartTimeout;
  std::string line;
  while (absl::Now() < end) {
    pollfd descriptor = {output_, POLLIN, 0};
    if (poll(&descriptor, 1, 100) <= 0) continue;
    char bytes[4096];
    const ssize_t count = read(output_, bytes, sizeof(bytes));
    if (count <= 0) break;
    line.append(bytes, static_cast<size_t>(count));
    // The first line says where the server listens, which is known.
    if (line.find('\n') != std::string::npos) return absl::OkStatus();
  }
  return absl::UnavailableError(
      absl::StrCat("plaitd did not start: ", LastLine(log_path_), " (see ", log_path_, ")"));
}

EmbeddedServer::~EmbeddedServer() {
  if (process_ > 0) {
    kill(process_, SIGTERM);
    const absl::Time end = absl::Now() + kStopTimeout;
    bool gone = false;
    while (!gone && absl::Now() < end) {
      gone = waitpid(process_, nullptr, WNOHANG) != 0;
      if (!gone) absl::SleepFor(kPollInterval);
    }
    if (!gone) {
      kill(process_, SIGKILL);
      waitpid(process_, nullptr, 0);
    }
    unlink(socket_path_.c_str());
  }
  if (output_ >= 0) close(output_);
  if (lock_ >= 0) close(lock_);
}

}  // namespace plait
