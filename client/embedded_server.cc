#include "client/embedded_server.h"

#include <cerrno>
#include <csignal>

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/un.h>
#include <unistd.h>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "client/files/file.h"
#include "loading/model_file.h"

namespace plait {
namespace {

// 30 s: opening a large store after a power loss takes seconds, a server that hangs takes forever.
constexpr absl::Duration kStartTimeout = absl::Seconds(30);
// 10 s: stopping ends running measurements and closes the store.
constexpr absl::Duration kStopTimeout = absl::Seconds(10);

// 5 GB: a cache that nobody asked for may take no more of somebody's home; two runs on BERT-large.
constexpr int64_t kCachedBlobBytesMax = 5'000'000'000;

// Ours, without what tells a server of this machine where it listens and whom it trusts: that is
// not for the one of a single job.
std::vector<std::string> EnvironmentOfServer() {
  constexpr absl::string_view kOfAnother[] = {
      "PLAIT_LISTEN=", "PLAIT_WORKER_LISTEN=", "PLAIT_HEALTH_LISTEN=", "PLAIT_METRICS_LISTEN=",
      "PLAIT_TLS_",    "PLAIT_WORKER_TLS_",    "PLAIT_INSECURE"};
  std::vector<std::string> environment;
  for (char* const* entry = environ; *entry != nullptr; ++entry) {
    const absl::string_view variable = *entry;
    if (absl::c_none_of(kOfAnother, [&](absl::string_view setting) {
          return absl::StartsWith(variable, setting);
        })) {
      environment.emplace_back(variable);
    }
  }
  return environment;
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
  PLAIT_RETURN_IF_ERROR(MakePrivateFolder(options.cache_folder));
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
  // The lock first: the socket and the log in the folder are another program's until then.
  PLAIT_RETURN_IF_ERROR(server->Lock(options, messages));
  PLAIT_RETURN_IF_ERROR(server->Spawn(options));
  PLAIT_RETURN_IF_ERROR(server->AwaitListening());
  return server;
}

absl::Status EmbeddedServer::Lock(const Options& options, std::ostream& messages) {
  const std::string path = absl::StrCat(options.cache_folder, "/plait.lock");
  lock_ = FileDescriptor(open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!lock_.is_open()) return absl::ErrnoToStatus(errno, path);
  // Without waiting at first, so that a wait is told before it begins.
  if (flock(lock_.number(), LOCK_EX | LOCK_NB) == 0) return absl::OkStatus();
  if (errno != EWOULDBLOCK) return absl::ErrnoToStatus(errno, path);
  messages << "waiting for another plait that uses " << options.cache_folder << "\n";
  messages.flush();
  while (flock(lock_.number(), LOCK_EX) != 0) {
    if (errno != EINTR) return absl::ErrnoToStatus(errno, path);
  }
  return absl::OkStatus();
}

absl::Status EmbeddedServer::Spawn(const Options& options) {
  ProcessOptions process;
  process.environment = EnvironmentOfServer();
  process.program = options.program;
  process.arguments = {options.program, "--data-dir", absl::StrCat(options.cache_folder, "/data"),
                       "--listen", address_, "--insecure", "--workers", options.device,
                       "--blobs-bytes-max", absl::StrCat(kCachedBlobBytesMax),
                       // It lives for one job, and has no other client.
                       "--blobs-seen-unused-seconds", "0"};
  if (options.threads > 0) {
    process.arguments.push_back("--worker-threads");
    process.arguments.push_back(absl::StrCat(options.threads));
  }
  if (!options.instruction_set.empty()) {
    process.arguments.push_back("--worker-instruction-set");
    process.arguments.push_back(options.instruction_set);
  }
  // Emptied at each start: it is for the error of this run.
  const FileDescriptor log(
      open(log_path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!log.is_open()) return absl::ErrnoToStatus(errno, log_path_);
  int output[2];
  if (pipe2(output, O_CLOEXEC) != 0) return absl::ErrnoToStatus(errno, "pipe");
  output_ = FileDescriptor(output[0]);
  const FileDescriptor output_written(output[1]);
  process.descriptors = {{output_written.number(), STDOUT_FILENO}, {log.number(), STDERR_FILENO}};
  PLAIT_ASSIGN_OR_RETURN(process_, Process::Start(process));
  return absl::OkStatus();
}

absl::Status EmbeddedServer::AwaitListening() {
  const absl::Time end = absl::Now() + kStartTimeout;
  std::string line;
  while (absl::Now() < end) {
    pollfd descriptor = {output_.number(), POLLIN, 0};
    if (poll(&descriptor, 1, 100) <= 0) continue;
    char bytes[4096];
    const ssize_t count = read(output_.number(), bytes, sizeof(bytes));
    if (count <= 0) break;
    line.append(bytes, static_cast<size_t>(count));
    // The first line says where the server listens, which is known.
    if (line.find('\n') != std::string::npos) return absl::OkStatus();
  }
  return absl::UnavailableError(
      absl::StrCat("plaitd did not start: ", LastLine(log_path_), " (see ", log_path_, ")"));
}

absl::Status EmbeddedServer::CheckRunning() const {
  // Its end of the pipe is closed with the process.
  pollfd descriptor = {output_.number(), 0, 0};
  if (poll(&descriptor, 1, 0) <= 0) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("plaitd ended while it was at work (see ", log_path_, ")"));
}

EmbeddedServer::~EmbeddedServer() {
  if (process_.id() == 0) return;
  // Gently at first, so that jobs are queued again and the store is closed in order; a kill loses
  // nothing either.
  process_.Signal(SIGTERM);
  if (!process_.Await(kStopTimeout)) process_.Kill();
  unlink(socket_path_.c_str());
}

}  // namespace plait
