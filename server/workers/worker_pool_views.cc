// What the pool tells of itself; it changes nothing here.
#include <algorithm>
#include <map>
#include <utility>

#include "server/workers/task_blobs.h"
#include "server/workers/worker_pool.h"

namespace plait {

bool WorkerPool::SharesProcessor(const Worker& worker) {
  const bool is_of_processor =
      worker.device.id() == "cpu" || !worker.device.runtime_version().empty();
  return is_of_processor && worker.place == WorkerPlace::kThisHost;
}

bool WorkerPool::IsProcessorTaken(const v1::Device& device) const {
  if (device.id() != "cpu" && device.runtime_version().empty()) return false;
  return std::any_of(workers_.begin(), workers_.end(), [&](const auto& entry) {
    const Worker& worker = entry.second;
    return worker.is_busy() && worker.device.id() != device.id() && SharesProcessor(worker);
  });
}

bool WorkerPool::HasTaskWithBlob(absl::string_view worker_id, const Digest& blob) {
  absl::MutexLock lock(&mutex_);
  const auto worker = workers_.find(worker_id);
  if (worker == workers_.end() || worker->second.task_id.empty()) return false;
  return NamesBlob(tasks_.at(worker->second.task_id).task, blob);
}

absl::Duration WorkerPool::WaitedForOthers(absl::string_view job_id) {
  absl::MutexLock lock(&mutex_);
  const auto found = waiters_.find(job_id);
  if (found == waiters_.end()) return absl::ZeroDuration();
  const Waiter& waiter = found->second;
  return waiter.waited + (waiter.since ? clock_.Monotonic() - *waiter.since : absl::ZeroDuration());
}

std::optional<absl::Duration> WorkerPool::HeardAt(absl::string_view worker_id) {
  absl::MutexLock lock(&mutex_);
  const auto found = workers_.find(std::string(worker_id));
  if (found == workers_.end()) return std::nullopt;
  return found->second.heard_at;
}

std::optional<absl::Duration> WorkerPool::UnwantedSince(absl::string_view worker_id) {
  absl::MutexLock lock(&mutex_);
  const auto found = workers_.find(std::string(worker_id));
  if (found == workers_.end()) return std::nullopt;
  return found->second.unwanted_since;
}

std::vector<admin::v1::WorkerState> WorkerPool::Workers() {
  absl::MutexLock lock(&mutex_);
  std::vector<admin::v1::WorkerState> states;
  for (const auto& [id, worker] : workers_) {
    admin::v1::WorkerState& state = states.emplace_back();
    state.set_worker_id(id);
    *state.mutable_device() = worker.device;
    state.set_task_id(worker.task_id);
    state.mutable_synchronize_time()->set_seconds(absl::ToUnixSeconds(worker.synchronized_at));
  }
  return states;
}

std::vector<DeviceAvailability> WorkerPool::Devices() {
  absl::MutexLock lock(&mutex_);
  std::map<std::pair<std::string, std::string>, DeviceAvailability> devices;
  for (const auto& [id, worker] : workers_) {
    DeviceAvailability& entry = devices[{worker.device.id(), worker.device.fingerprint()}];
    entry.device = worker.device;
    ++entry.workers;
    if (!worker.is_busy()) ++entry.workers_idle;
  }
  std::vector<DeviceAvailability> available;
  for (auto& [key, entry] : devices) available.push_back(std::move(entry));
  return available;
}

}  // namespace plait
