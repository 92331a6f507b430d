#include "server/services/stream_deadlines.h"

namespace plait {

bool StreamDeadlines::Await(grpc::ServerContext& call, absl::FunctionRef<bool()> transfer) {
  int64_t number = 0;
  {
    absl::MutexLock lock(&mutex_);
    number = ++last_wait_;
    waits_[number] = {&call, clock_.Monotonic()};
  }
  const bool is_done = transfer();
  absl::MutexLock lock(&mutex_);
  waits_.erase(number);
  return is_done;
}

void StreamDeadlines::CheckTimes() {
  // With the lock: a call lives for as long as its wait is in the map.
  absl::MutexLock lock(&mutex_);
  const absl::Duration now = clock_.Monotonic();
  for (const auto& [number, wait] : waits_) {
    if (now - wait.began > wait_max_) wait.call->TryCancel();
  }
}

}  // namespace plait
