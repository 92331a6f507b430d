#pragma once

#include <cstdint>
#include <map>

#include <grpcpp/server_context.h>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/clock.h"

namespace plait {

// Ends streams whose other end lets the server wait: gRPC's blocking reads and writes have no
// deadline of their own, and an end that only answers pings would hold its stream, and a thread of
// the server, for ever. Thread-safe.
class StreamDeadlines {
 public:
  // `clock` must outlive this object. `wait_max` is for one message, not for a stream.
  StreamDeadlines(Clock& clock, absl::Duration wait_max) : clock_(clock), wait_max_(wait_max) {}

  // Runs `transfer`, one read or write of the call's stream, and returns what it returned. When it
  // takes too long the call is cancelled: then it returns false, soon.
  bool Await(grpc::ServerContext& call, absl::FunctionRef<bool()> transfer);

  // Cancels the calls that have waited too long. Called about once a second.
  void CheckTimes();

 private:
  // A transfer that is going on.
  struct Wait {
    grpc::ServerContext* call = nullptr;
    absl::Duration began;  // monotonic
  };

  Clock& clock_;
  const absl::Duration wait_max_;
  absl::Mutex mutex_;
  int64_t last_wait_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<int64_t, Wait> waits_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plait
