#include "server/jobs/job_queue.h"

#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "proto/wire/device.h"
#include "proto/wire/names.h"
#include "server/telemetry/log.h"

namespace plait {
namespace {

// Changes wake runners at once; this is for what nobody announces, such as a new worker.
constexpr absl::Duration kPollInterval = absl::Milliseconds(300);
constexpr absl::Duration kLease = absl::Minutes(1);

}  // namespace

JobQueue::JobQueue(const JobRunnerContext& context, JobRunner& runner,
                   const JobQueueOptions& options)
    : context_(context), runner_(runner), options_(options) {}

void JobQueue::Start() {
  for (int i = 0; i < options_.runners; ++i) threads_.emplace_back([this] { Loop(); });
}

void JobQueue::Stop() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
    ++changes_;
    // Under the lock, so that a runner that has just registered its wakeup sees either the flag or
    // the signal.
    for (const auto& [id, wakeup] : running_) wakeup->Signal();
  }
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void JobQueue::Drain() { draining_ = true; }

void JobQueue::Wake(const std::string& job_id) {
  absl::MutexLock lock(&mutex_);
  ++changes_;
  const auto found = running_.find(job_id);
  if (found != running_.end()) found->second->Signal();
}

void JobQueue::RecoverStrandedJobs() {
  std::vector<std::string> held;
  {
    absl::MutexLock lock(&mutex_);
    for (const auto& [id, wakeup] : running_) held.push_back(id);
  }
  // One that is taken from here on has a lease that has not run out.
  const absl::StatusOr<int> recovered = context_.stores.jobs->RecoverExpiredJobs(held);
  if (!recovered.ok()) {
    LogError("job.unrecovered", {{"error", recovered.status().ToString()}});
  } else if (*recovered > 0) {
    LogWarning("job.recovered", {{"jobs", absl::StrCat(*recovered)}});
  }
}

int64_t JobQueue::running() {
  absl::MutexLock lock(&mutex_);
  return static_cast<int64_t>(running_.size());
}

void JobQueue::Loop() {
  while (!stopping_) {
    uint64_t seen = 0;
    {
      absl::MutexLock lock(&mutex_);
      seen = changes_;
    }
    if (RunNext()) continue;
    absl::MutexLock lock(&mutex_);
    const auto changed = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return stopping_ || changes_ != seen;
    };
    mutex_.AwaitWithTimeout(absl::Condition(&changed), kPollInterval);
  }
}

bool JobQueue::RunNext() {
  const std::vector<std::string> devices = Devices();
  // An empty list would mean any device.
  if (draining_ || devices.empty()) return false;
  // The process's id is for people who read attempts; the attempt's number is what fences.
  const absl::StatusOr<std::optional<LeasedJob>> job =
      context_.stores.jobs->Acquire({absl::StrCat("plaitd-", getpid()), devices, kLease});
  if (!job.ok()) {
    LogError("job.unavailable", {{"error", job.status().ToString()}});
    return false;
  }
  if (!job->has_value()) return false;
  const v1::Job& leased = (*job)->job;
  const auto wakeup = std::make_shared<Wakeup>();
  {
    absl::MutexLock lock(&mutex_);
    running_[leased.id()] = wakeup;
  }
  runner_.RunJob(**job, wakeup, stopping_);
  absl::MutexLock lock(&mutex_);
  // A job that went back into the queue may be another runner's by now.
  const auto found = running_.find(leased.id());
  if (found != running_.end() && found->second == wakeup) running_.erase(found);
  return true;
}

std::vector<std::string> JobQueue::Devices() {
  std::vector<std::string> devices;
  bool has_cpu = false;
  for (const DeviceAvailability& entry : context_.pool.Devices()) {
    devices.push_back(entry.device.id());
    has_cpu |= entry.device.id() == wire::kComparingDevice;
  }
  if (!has_cpu) return devices;
  for (const v1::Device& described : wire::DescribedDevices()) devices.push_back(described.id());
  return devices;
}

}  // namespace plait
