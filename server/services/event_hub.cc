#include "server/services/event_hub.h"

namespace plait {

EventHub::Watcher::Watcher(EventHub& hub, absl::string_view job_id)
    : hub_(hub), job_([&] {
        absl::MutexLock lock(&hub.mutex_);
        const auto job = hub.jobs_.try_emplace(std::string(job_id)).first;
        ++job->second.watchers;
        return job;
      }()) {}

EventHub::Watcher::~Watcher() {
  absl::MutexLock lock(&hub_.mutex_);
  if (--job_->second.watchers == 0) hub_.jobs_.erase(job_);
}

uint64_t EventHub::Watcher::Changes() {
  absl::MutexLock lock(&hub_.mutex_);
  return job_->second.changes;
}

bool EventHub::Watcher::Await(uint64_t seen, absl::Duration time_max) {
  absl::MutexLock lock(&hub_.mutex_);
  // A mutex wakes those whose condition holds, and nobody else.
  const auto is_over = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(hub_.mutex_) {
    return hub_.closed_ || job_->second.changes != seen;
  };
  hub_.mutex_.AwaitWithTimeout(absl::Condition(&is_over), time_max);
  return job_->second.changes != seen;
}

// A number and not a flag: two watchers may wait for changes after different moments.
void EventHub::Notify(absl::string_view job_id) {
  absl::MutexLock lock(&mutex_);
  const auto job = jobs_.find(job_id);
  if (job != jobs_.end()) ++job->second.changes;
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
