#include "server/services/event_hub.h"

namespace plait {

// A number and not a flag: two watchers may wait for changes after different moments.
void EventHub::Notify() {
  absl::MutexLock lock(&mutex_);
  ++changes_;
}

uint64_t EventHub::Changes() {
  absl::MutexLock lock(&mutex_);
  return changes_;
}

void EventHub::Await(uint64_t seen, absl::Duration time_max) {
  absl::MutexLock lock(&mutex_);
  const auto changed = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return closed_ || changes_ != seen;
  };
  mutex_.AwaitWithTimeout(absl::Condition(&changed), time_max);
}

void EventHub::Close() {
  absl::MutexLock lock(&mutex_);
  closed_ = true;
}

bool EventHub::closed() {
  absl::MutexLock lock(&mutex_);
  return closed_;
}

}  // namespace plait
