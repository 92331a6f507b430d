#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <sys/types.h>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/file_descriptor.h"
#include "plait/internal/search_child.pb.h"
#include "server/search_child/protocol/frame.h"

namespace plait {

// What a search child may use; 0: no limit.
struct SearchChildLimits {
  int64_t memory_bytes_max = 0;
  int64_t cpu_seconds_max = 0;
  int64_t output_bytes_max = 0;
};

struct SearchChildOptions {
  std::string program = "/proc/self/exe";
  SearchChildLimits limits;
};

// The process that searches for one job, seen from the daemon, which believes nothing that it says.
// The child is in a session of its own and is killed when this object, or the daemon, dies.
// REQUIRES: started by a thread that lives as long as the child: the kernel ties the child to it.
// Not thread-safe.
class SearchChildProcess {
 public:
  // Starts the program with --search-child. The child gets the model for reading and the output for
  // writing. Errors: Unavailable when the process cannot be started.
  static absl::StatusOr<std::unique_ptr<SearchChildProcess>> Start(
      const SearchChildOptions& options, int model, int output);

  ~SearchChildProcess();
  SearchChildProcess(const SearchChildProcess&) = delete;
  SearchChildProcess& operator=(const SearchChildProcess&) = delete;

  pid_t process_id() const { return process_id_; }

  // Queues a message; Receive sends it, so that a child that does not read cannot hold us up.
  // Errors: ResourceExhausted when too much is queued.
  absl::Status Send(const internal::ParentMessage& message);

  // The next message, or nothing when `time_max` has passed or `wakeup` is readable.
  // Errors: Aborted with the evidence when the child has died, ResourceExhausted when it did so
  // because of a limit; InvalidArgument when it sends what is no message.
  absl::StatusOr<std::optional<internal::ChildMessage>> Receive(int wakeup,
                                                                absl::Duration time_max);

  // The end of what the child wrote to its standard error.
  const std::string& error_text() const { return error_text_; }

 private:
  SearchChildProcess(pid_t process_id, FileDescriptor socket, FileDescriptor error_pipe)
      : process_id_(process_id), socket_(std::move(socket)), error_pipe_(std::move(error_pipe)) {}

  void ReadErrorText();
  bool ReadMessages();   // false at the end of the stream
  bool WriteMessages();  // false when the child does not listen any more
  absl::Status Death();

  pid_t process_id_;
  FileDescriptor socket_;
  FileDescriptor error_pipe_;
  FrameReader reader_;
  std::string unsent_;
  std::string error_text_;
};

}  // namespace plait
