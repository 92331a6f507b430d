#include "server/jobs/search_child_process.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "proto/wire/error.h"
#include "server/search_child/protocol/descriptors.h"

namespace plait {
namespace {

// Two of the largest replies: a child that leaves more unread has stopped reading.
constexpr size_t kUnsentBytesMax = 2 * static_cast<size_t>(kFrameBytesMax);
constexpr size_t kReadBytes = size_t{64} << 10;

// 1 s: what a child needs to end that has closed its socket.
constexpr absl::Duration kEndTimeMax = absl::Seconds(1);
// The last words that go into an error message; the job's attempt keeps kEvidenceBytesMax.
constexpr size_t kLastWordsBytes = 2000;

// Of this server and not of its storage, which Unavailable alone would mean.
absl::Status StartError(absl::string_view what) {
  return wire::WithReason(
      absl::UnavailableError(absl::StrCat("the search child cannot be started: ", what)),
      v1::ERROR_REASON_INTERNAL);
}

absl::Status StartError(absl::string_view what, int error_number) {
  return StartError(absl::StrCat(what, ": ", std::strerror(error_number)));
}

// As SearchChildMain reads them; the child checks that its parent is the one that wrote them.
std::string LimitsText(const SearchChildLimits& limits) {
  return absl::StrCat(limits.memory_bytes_max, ",", limits.cpu_seconds_max, ",",
                      limits.output_bytes_max, ",", getpid());
}

absl::Status EndStatus(const ProcessEnd& end, absl::string_view last_words) {
  if (end.signal == 0 && end.exit_code == kMemoryLimitExit) {
    return absl::ResourceExhaustedError("the search needs more memory than this server allows");
  }
  if (end.signal == SIGXCPU) {
    return absl::ResourceExhaustedError("the search needs more processor time than it may use");
  }
  if (end.signal == SIGXFSZ) {
    return absl::ResourceExhaustedError(
        "the optimized model, or the table of weights, is larger than the limit");
  }
  const std::string how = end.signal != 0 ? absl::StrCat("was killed by signal ", end.signal, " (",
                                                         strsignal(end.signal), ")")
                                          : absl::StrCat("exited with ", end.exit_code);
  return absl::AbortedError(absl::StrCat(
      "the search child ", how,
      " without a result; its last words: ", last_words.empty() ? "none" : last_words));
}

}  // namespace

absl::StatusOr<std::unique_ptr<SearchChildProcess>> SearchChildProcess::Start(
    const SearchChildOptions& options, const SearchChildFiles& files) {
  int sockets[2];
  int pipes[2];
  // Closed on exec, all of them: only what is placed below reaches the child.
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) {
    return StartError("socket", errno);
  }
  FileDescriptor socket(sockets[0]);
  const FileDescriptor child_socket(sockets[1]);
  if (pipe2(pipes, O_CLOEXEC) != 0) return StartError("pipe", errno);
  FileDescriptor error_pipe(pipes[0]);
  const FileDescriptor child_error(pipes[1]);
  fcntl(socket.number(), F_SETFL, O_NONBLOCK);
  fcntl(error_pipe.number(), F_SETFL, O_NONBLOCK);

  ProcessOptions process_options;
  process_options.program = options.program;
  process_options.arguments = {"plaitd", "--search-child", LimitsText(options.limits)};
  // Nothing of the daemon's environment reaches the child.
  process_options.environment.emplace();
  process_options.descriptors = {{child_error.number(), STDERR_FILENO},
                                 {child_socket.number(), kChildSocket},
                                 {files.model, kChildModel},
                                 {files.output, kChildOutput},
                                 {files.weights, kChildWeights},
                                 {files.blobs, kChildBlobs}};
  absl::StatusOr<Process> process = Process::Start(process_options);
  if (!process.ok()) return StartError(process.status().message());
  return std::unique_ptr<SearchChildProcess>(
      new SearchChildProcess(*std::move(process), std::move(socket), std::move(error_pipe)));
}

absl::Status SearchChildProcess::Send(const internal::ParentMessage& message) {
  PLAIT_ASSIGN_OR_RETURN(std::string frame, FrameOf(message));
  if (unsent_bytes_ + frame.size() > kUnsentBytesMax) {
    return absl::ResourceExhaustedError("the search child does not read its messages");
  }
  unsent_bytes_ += frame.size();
  unsent_.push_back(std::move(frame));
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
  const std::string& first = unsent_.front();
  const ssize_t count = send(socket_.number(), first.data() + sent_of_first_,
                             first.size() - sent_of_first_, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  sent_of_first_ += static_cast<size_t>(count);
  unsent_bytes_ -= static_cast<size_t>(count);
  if (sent_of_first_ < first.size()) return true;
  unsent_.pop_front();
  sent_of_first_ = 0;
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
  if ((files[0].revents & POLLOUT) != 0 && !WriteMessages()) {
    unsent_.clear();
    sent_of_first_ = 0;
    unsent_bytes_ = 0;
  }
  if ((files[0].revents & (POLLIN | POLLHUP | POLLERR)) != 0 && !ReadMessages()) return Death();
  PLAIT_ASSIGN_OR_RETURN(complete, reader_.Next(&message));
  if (complete) return message;
  return std::nullopt;
}

absl::Status SearchChildProcess::Death() {
  // It may have closed the socket only; then it is of no use any more.
  // A stopped child has not ended: it is killed like one that hangs.
  const std::optional<ProcessEnd> ended = process_.Await(kEndTimeMax);
  const ProcessEnd end = ended ? *ended : process_.Kill();
  if (error_pipe_.is_open()) ReadErrorText();
  absl::string_view last_words = error_text_;
  last_words.remove_prefix(last_words.size() - std::min(last_words.size(), kLastWordsBytes));
  return EndStatus(end, last_words);
}

}  // namespace plait
