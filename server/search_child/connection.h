#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "plait/internal/search_child.pb.h"
#include "server/search_child/protocol/frame.h"

namespace plait {

// The search child's end of the conversation with the daemon. A thread reads what the daemon says,
// so that a deadline is heard at any time. Thread-safe.
class ChildConnection {
 public:
  // `socket` must stay open.
  // Nothing is read until ReadStart.
  explicit ChildConnection(int socket) : socket_(socket) {}
  // Stops the listener; replies that nobody took are dropped.
  ~ChildConnection();
  ChildConnection(const ChildConnection&) = delete;
  ChildConnection& operator=(const ChildConnection&) = delete;

  // Waits for the first message, then begins to listen.
  // Errors: Unavailable when the daemon is gone; InvalidArgument when it says something else.
  // REQUIRES: called once, before anything else.
  absl::StatusOr<internal::Start> ReadStart();

  // Errors: Unavailable when the daemon is gone; ResourceExhausted when the message is too large.
  // May be called on several threads: each message is written as a whole. Blocks while the daemon
  // does not read.
  absl::Status Send(const internal::ChildMessage& message);

  // Asks and waits for the answer.
  // Errors: the task's, with the reason that the client is told; Unavailable when the daemon is
  // gone.
  //
  // There is no time limit here: the daemon answers or ends the child. Numbers of questions rise
  // from 1 and are never used twice, which the daemon insists on. What a worker says is passed on
  // as it came: who asks judges it.
  absl::StatusOr<worker::v1::TaskResult> Profile(worker::v1::ProfileTask task);
  absl::StatusOr<worker::v1::TaskResult> Measure(worker::v1::MeasureTask task);
  absl::StatusOr<worker::v1::TaskResult> MeasureModels(const std::string& runtime,
                                                       worker::v1::MeasureModelsTask task);

  // How long one task may wait for a device whose threads are far from each other, and all of them
  // together; at first not at all.
  void AllowWaits(absl::Duration of_task, absl::Duration of_all);

  // How long others have held this job up: it was stopped, its device measured for other jobs or
  // was waited for.
  // Errors: Unavailable when the daemon is gone. REQUIRES: called on one thread at a time.
  absl::StatusOr<absl::Duration> StoppedTime();

  // The most that a worker said it needed for a task of this job; 0 before the first one.
  int64_t worker_peak_memory_bytes() {
    absl::MutexLock lock(&mutex_);
    return worker_peak_memory_bytes_;
  }

  // The deadline wants the search to end.
  // Becomes true once and stays so; a search looks at it between its steps.
  bool stop_requested() const { return stop_requested_; }

 private:
  // The listener's thread: takes replies and wishes in the order in which they come, until the
  // socket ends.
  // The daemon is trusted: what does not fit is ignored.
  void Listen();
  // Errors: those that the reply carries; Unavailable when the socket ended without one.
  absl::StatusOr<worker::v1::TaskResult> AwaitReply(int64_t number);
  // Never the same twice, on any thread.
  int64_t NextNumber();
  // How long the next task may wait.
  double WaitSecondsMax();
  void NoteWait(double seconds) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const int socket_;
  FrameReader reader_{kParentMessageParsedBytesMax};  // used by one thread at a time
  std::thread listener_;
  std::atomic<bool> stop_requested_ = false;
  absl::Mutex mutex_;
  bool disconnected_ ABSL_GUARDED_BY(mutex_) = false;
  int64_t last_number_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Duration task_wait_max_ ABSL_GUARDED_BY(mutex_);
  absl::Duration wait_left_ ABSL_GUARDED_BY(mutex_);
  absl::Duration waited_ ABSL_GUARDED_BY(mutex_);
  int64_t worker_peak_memory_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  // That have come and were not taken yet, by the question's number.
  std::map<int64_t, worker::v1::TaskResult> replies_ ABSL_GUARDED_BY(mutex_);
  std::optional<absl::Duration> stopped_time_ ABSL_GUARDED_BY(mutex_);
  // Of writing to the socket. Never held together with mutex_.
  absl::Mutex write_mutex_;
};

}  // namespace plait
