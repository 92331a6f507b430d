#include "server/jobs/search_child_process.h"

#include <cerrno>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "server/search_child/protocol/descriptors.h"

namespace plait {
namespace {

// Two of the largest replies: a child that leaves more unread has stopped reading.
constexpr size_t kUnsentBytesMax = 2 * static_cast<size_t>(kFrameBytesMax);
constexpr size_t kReadBytes = size_t{64} << 10;

absl::Status StartError(absl::string_view what) {
  return absl::UnavailableError(
      absl::StrCat("the search child cannot be started: ", what, ": ", std::strerror(errno)));
}

// Places descriptors where the child expects them. Copies first go above all targets, so that none
// is overwritten before it was copied.
class SpawnActions {
 public:
  SpawnActions() {
    posix_spawn_file_actions_init(&actions_);
    posix_spawnattr_init(&attributes_);
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setflags(&attributes_,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
    posix_spawn_file_actions_addopen(&actions_, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions_, 1, "/dev/null", O_WRONLY, 0);
  }
  ~SpawnActions() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;

  void Place(int descriptor, int target) {
    posix_spawn_file_actions_adddup2(&actions_, descriptor, target);
  }
  void CloseFrom(int descriptor) {
    posix_spawn_file_actions_addclosefrom_np(&actions_, descriptor);
  }
  const posix_spawn_file_actions_t* actions() const { return &actions_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

FileDescriptor HighCopy(int descriptor) {
  return FileDescriptor(fcntl(descriptor, F_DUPFD_CLOEXEC, kChildOutput + 1));
}

}  // namespace

absl::StatusOr<std::unique_ptr<SearchChildProcess>> SearchChildProcess::Start(
    const SearchChildOptions& options, int model, int output) {
  int sockets[2];
  int pipes[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) return StartError("socket");
  FileDescriptor socket(sockets[0]);
  const FileDescriptor child_socket(sockets[1]);
  if (pipe2(pipes, O_CLOEXEC) != 0) return StartError("pipe");
  FileDescriptor error_pipe(pipes[0]);
  const FileDescriptor child_error(pipes[1]);
  fcntl(socket.number(), F_SETFL, O_NONBLOCK);
  fcntl(error_pipe.number(), F_SETFL, O_NONBLOCK);

  const FileDescriptor copies[] = {HighCopy(child_error.number()), HighCopy(child_socket.number()),
                                   HighCopy(model), HighCopy(output)};
  SpawnActions actions;
  actions.Place(copies[0].number(), 2);
  actions.Place(copies[1].number(), kChildSocket);
  actions.Place(copies[2].number(), kChildModel);
  actions.Place(copies[3].number(), kChildOutput);
  actions.CloseFrom(kChildOutput + 1);

  const std::string limits =
      absl::StrCat(options.limits.memory_bytes_max, ",", options.limits.cpu_seconds_max, ",",
                   options.limits.output_bytes_max, ",", getpid());
  std::string arguments[] = {"plaitd", "--search-child", limits};
  char* const argv[] = {arguments[0].data(), arguments[1].data(), arguments[2].data(), nullptr};
  // An empty environment: nothing of the daemon's reaches the child.
  char* const environment[] = {nullptr};
  pid_t process_id = 0;
  errno = posix_spawn(&process_id, options.program.c_str(), actions.actions(), actions.attributes(),
                      argv, environment);
  if (errno != 0) return StartError(options.program);
  return std::unique_ptr<SearchChildProcess>(
      new SearchChildProcess(process_id, std::move(socket), std::move(error_pipe)));
}

SearchChildProcess::~SearchChildProcess() {
  if (process_id_ <= 0) return;
  kill(process_id_, SIGKILL);
  waitpid(process_id_, nullptr, 0);
}

absl::Status SearchChildProcess::Send(const internal::ParentMessage& message) {
  PLAIT_ASSIGN_OR_RETURN(const std::string frame, FrameOf(message));
  if (unsent_.size() + frame.size() > kUnsentBytesMax) {
    return absl::ResourceExhaustedError("the search child does not read its messages");
  }
  unsent_ += frame;
  return absl::OkStatus();
}

void SearchChildProcess::ReadErrorText() {
  char bytes[4096];
  ssize_t count = 0;
  while ((count = read(error_pipe_.number(), bytes, sizeof(bytes))) > 0) {
    error_text_.append(bytes, static_cast<size_t>(count));
    if (error_text_.size() > 2 * static_cast<size_t>(kEvidenceBytesMax)) {
      error_text_.erase(0, error_text_.size() - static_cast<size_t>(kEvidenceBytesMax));
    }
  }
}

bool SearchChildProcess::ReadMessages() {
  std::string bytes(kReadBytes, '\0');
  const ssize_t count = recv(socket_.number(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (count == 0) return false;
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  reader_.Append(absl::string_view(bytes.data(), static_cast<size_t>(count)));
  return true;
}

bool SearchChildProcess::WriteMessages() {
  const ssize_t count =
      send(socket_.number(), unsent_.data(), unsent_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  unsent_.erase(0, static_cast<size_t>(count));
  return true;
}

absl::StatusOr<std::optional<internal::ChildMessage>> SearchChildProcess::Receive(
    int wakeup, absl::Duration time_max) {
  internal::ChildMessage message;
  PLAIT_ASSIGN_OR_RETURN(bool complete, reader_.Next(&message));
  if (complete) return message;
  const short want_to_write = unsent_.empty() ? 0 : POLLOUT;
  pollfd files[] = {{socket_.number(), static_cast<short>(POLLIN | want_to_write), 0},
                    {wakeup, POLLIN, 0},
                    {error_pipe_.number(), POLLIN, 0}};
  poll(files, 3, static_cast<int>(absl::ToInt64Milliseconds(time_max)));
  // A closed pipe is always ready: it is watched no longer.
  if ((files[2].revents & POLLHUP) != 0) {
    ReadErrorText();
    error_pipe_ = FileDescriptor();
  } else if (files[2].revents != 0) {
    ReadErrorText();
  }
  // What it has said before it stopped listening still counts; its end is seen when reading.
  if ((files[0].revents & POLLOUT) != 0 && !WriteMessages()) unsent_.clear();
  if ((files[0].revents & (POLLIN | POLLHUP | POLLERR)) != 0 && !ReadMessages()) return Death();
  PLAIT_ASSIGN_OR_RETURN(complete, reader_.Next(&message));
  if (complete) return message;
  return std::nullopt;
}

absl::Status SearchChildProcess::Death() {
  // It may have closed the socket only; then it is of no use any more.
  int state = 0;
  bool is_reaped = false;
  for (int i = 0; i < 20 && !is_reaped; ++i) {
    is_reaped = waitpid(process_id_, &state, WNOHANG) != 0;
    if (!is_reaped) poll(nullptr, 0, 50);
  }
  if (!is_reaped) {
    kill(process_id_, SIGKILL);
    waitpid(process_id_, &state, 0);
  }
  process_id_ = 0;
  if (error_pipe_.is_open()) ReadErrorText();
  const absl::string_view tail =
      absl::string_view(error_text_)
          .substr(error_text_.size() > 2000 ? error_text_.size() - 2000 : 0);
  if (WIFEXITED(state) && WEXITSTATUS(state) == kMemoryLimitExit) {
    return absl::ResourceExhaustedError("the search needs more memory than this server allows");
  }
  if (WIFSIGNALED(state) && WTERMSIG(state) == SIGXCPU) {
    return absl::ResourceExhaustedError("the search needs more processor time than it may use");
  }
  if (WIFSIGNALED(state) && WTERMSIG(state) == SIGXFSZ) {
    return absl::ResourceExhaustedError("the optimized model is larger than the limit");
  }
  const std::string how = WIFSIGNALED(state)
                              ? absl::StrCat("was killed by signal ", WTERMSIG(state), " (",
                                             strsignal(WTERMSIG(state)), ")")
                              : absl::StrCat("exited with ", WEXITSTATUS(state));
  return absl::AbortedError(absl::StrCat("the search child ", how,
                                         " without a result; its last "
                                         "words: ",
                                         tail.empty() ? "none" : tail));
}

}  // namespace plait
