#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/file_descriptor.h"
#include "base/process.h"
#include "plait/internal/search_child.pb.h"
#include "server/search_child/protocol/frame.h"

namespace plait {

// What a search child may use, which it applies to itself before it reads a byte of the model; 0:
// no limit.
struct SearchChildLimits {
  // Of address space (RLIMIT_AS), of processor time over all threads (RLIMIT_CPU), and of each file
  // that it writes (RLIMIT_FSIZE). They are limits, no sandbox: the child keeps the daemon's user.
  int64_t memory_bytes_max = 0;
  int64_t cpu_seconds_max = 0;
  int64_t output_bytes_max = 0;
};

// How search children are started.
// The default is this program itself: daemon and child are always of one build.
struct SearchChildOptions {
  std::string program = "/proc/self/exe";  // tests start another one
  SearchChildLimits limits;
};

// The files of a child, which are open already; numbers of descriptors that somebody else owns.
struct SearchChildFiles {
  int model = -1;    // for reading
  int output = -1;   // for writing, as is the next one: empty, and without names
  int weights = -1;  // the table of the model's weights
  int blobs = -1;    // rewritten models and inputs, for runtimes
};

// The process that searches for one job, seen from the daemon, which believes nothing that it says:
// the child reads models of strangers. It is a Process, so it is killed when this object, its
// thread, or the daemon dies. Both sides send frames over a socket; see protocol/.
// REQUIRES: started by a thread that lives as long as the child: the kernel ties the child to it.
// Not thread-safe.
//
// Nothing that it does can end the daemon: its messages are parsed with a limit, its standard error
// is read into a bounded buffer, what it does not read is queued up to a bound, and it is killed
// when its job is over.
class SearchChildProcess {
 public:
  // Starts the program with --search-child. The files are borrowed for the call.
  // Errors: Unavailable when the process cannot be started.
  // Every other descriptor of the daemon is closed in the child, and its environment is empty.
  static absl::StatusOr<std::unique_ptr<SearchChildProcess>> Start(
      const SearchChildOptions& options, const SearchChildFiles& files);

  // 0 when it is known to have ended.
  pid_t process_id() const { return process_.id(); }

  // Queues a message; Receive sends it, so that a child that does not read cannot hold us up.
  // Errors: ResourceExhausted when too much is queued.
  // Never blocks. Errors for a message above kFrameBytesMax are the same.
  absl::Status Send(const internal::ParentMessage& message);

  // The next message, or nothing when `time_max` has passed or `wakeup` is readable.
  // Errors: Aborted with the evidence when the child has died, ResourceExhausted when it did so
  // because of a limit; InvalidArgument when it sends what is no message.
  // Also writes what is queued and reads the child's standard error. After an error the child is
  // dead or of no use, and Receive is not called again.
  absl::StatusOr<std::optional<internal::ChildMessage>> Receive(int wakeup,
                                                                absl::Duration time_max);

  // The end of what the child wrote to its standard error so far.
  // Any bytes at all, at most twice kEvidenceBytesMax of them; evidence for a person, not parsed.
  const std::string& error_text() const { return error_text_; }

 private:
  SearchChildProcess(Process process, FileDescriptor socket, FileDescriptor error_pipe)
      : process_(std::move(process)),
        socket_(std::move(socket)),
        error_pipe_(std::move(error_pipe)) {}

  // Reads what is there, without waiting.
  void ReadErrorText();
  bool ReadMessages();   // false at the end of the stream
  bool WriteMessages();  // false when the child does not listen any more
  absl::Status Death();  // its evidence, once it has gone or been killed

  Process process_;
  FileDescriptor socket_;
  FileDescriptor error_pipe_;
  FrameReader reader_{kChildMessageParsedBytesMax};
  // Frames, the first of which is sent up to `sent_of_first_`.
  std::deque<std::string> unsent_;
  size_t sent_of_first_ = 0;
  size_t unsent_bytes_ = 0;
  std::string error_text_;
};

}  // namespace plait
