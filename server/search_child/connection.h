#pragma once

#include <atomic>
#include <map>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "plait/internal/search_child.pb.h"
#include "server/search_child/protocol/frame.h"

namespace plait {

// The search child's end of the conversation with the daemon. A thread reads what the daemon says,
// so that a cancellation or deadline is heard at any time. Thread-safe.
class ChildConnection {
 public:
  // `socket` must stay open.
  explicit ChildConnection(int socket) : socket_(socket) {}
  ~ChildConnection();
  ChildConnection(const ChildConnection&) = delete;
  ChildConnection& operator=(const ChildConnection&) = delete;

  // Waits for the first message, then begins to listen.
  // Errors: Unavailable when the daemon is gone; InvalidArgument when it says something else.
  absl::StatusOr<internal::Start> ReadStart();

  // Errors: Unavailable when the daemon is gone; ResourceExhausted when the message is too large.
  absl::Status Send(const internal::ChildMessage& message);

  // Asks and waits for the answer.
  // Errors: those of the task; Cancelled; Unavailable when the daemon is gone.
  absl::StatusOr<worker::v1::TaskResult> Profile(worker::v1::ProfileTask task);
  absl::StatusOr<worker::v1::TaskResult> Measure(worker::v1::MeasureTask task);

  // The client or the deadline wants the search to end.
  bool stop_requested() const { return stop_requested_; }

 private:
  // The listener's thread: takes replies and wishes in the order in which they come, until the
  // socket ends.
  void Listen();
  absl::StatusOr<worker::v1::TaskResult> AwaitReply(int64_t number);
  int64_t NextNumber();

  const int socket_;
  FrameReader reader_;  // used by one thread at a time
  std::thread listener_;
  std::atomic<bool> stop_requested_ = false;
  absl::Mutex mutex_;
  bool disconnected_ ABSL_GUARDED_BY(mutex_) = false;
  int64_t last_number_ ABSL_GUARDED_BY(mutex_) = 0;
  // That have come and were not taken yet, by the question's number.
  std::map<int64_t, worker::v1::TaskResult> replies_ ABSL_GUARDED_BY(mutex_);
  absl::Mutex write_mutex_;
};

}  // namespace plait
