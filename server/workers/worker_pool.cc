#include "server/workers/worker_pool.h"

#include <algorithm>
#include <random>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/limits.h"
#include "proto/wire/options.h"

namespace plait {
namespace {

// 1 s: often enough that a lost worker is noticed soon, rarely enough to cost nothing.
constexpr int64_t kSynchronizeMs = 1000;

// 10,000 tenants that had a turn: a megabyte.
constexpr size_t kTenantTurnsMax = 10'000;

bool IsSameDevice(const v1::Device& a, const v1::Device& b) {
  return a.id() == b.id() && a.fingerprint() == b.fingerprint();
}

absl::string_view KindOf(const worker::v1::Task& task) {
  if (task.has_measure_models()) return "measure_models";
  return task.has_profile() ? "profile" : "measure";
}

// The task's own fault: no other worker would do better.
bool IsFinalError(const worker::v1::TaskError& error) {
  const auto code = static_cast<absl::StatusCode>(error.code());
  return code == absl::StatusCode::kInvalidArgument || code == absl::StatusCode::kOutOfRange ||
         code == absl::StatusCode::kUnimplemented || code == absl::StatusCode::kResourceExhausted ||
         code == absl::StatusCode::kDeadlineExceeded;
}

// 64 random bits.
std::string NewEpoch() {
  std::random_device device;
  return absl::StrFormat("%08x%08x", device(), device());
}

worker::v1::TaskResult ErrorResult(absl::StatusCode code, const std::string& message) {
  worker::v1::TaskResult result;
  result.mutable_error()->set_code(static_cast<int>(code));
  result.mutable_error()->set_message(message);
  return result;
}

}  // namespace

WorkerPool::WorkerPool(Clock& clock, WorkerPoolOptions options)
    : clock_(clock), options_(std::move(options)), epoch_(NewEpoch()) {}

int64_t WorkerPool::Submit(const v1::Device& device, worker::v1::Task task, ResultCallback done,
                           const Asker& asker, LostCallback lost) {
  // Equal work must have equal hashes, whoever asked first.
  task.clear_task_id();
  task.clear_attempt();
  const std::string content_hash =
      absl::StrCat(wire::MessageHash(task), device.id(), " ", device.fingerprint());
  absl::MutexLock lock(&mutex_);
  std::string& task_id = task_by_content_[content_hash];
  if (task_id.empty()) {
    task_id = absl::StrCat("task-", epoch_, "-", ++last_task_);
    PoolTask& added = tasks_[task_id];
    task.set_task_id(task_id);
    added.task = std::move(task);
    added.device = device;
    added.tenant = asker.tenant;
    added.content_hash = content_hash;
    waiting_.push_back(task_id);
  }
  tasks_[task_id].interests[++last_interest_] = {std::move(done), std::move(lost), asker.job_id};
  task_by_interest_[last_interest_] = task_id;
  if (!asker.job_id.empty()) waiters_.try_emplace(asker.job_id);
  UpdateWaiters();
  return last_interest_;
}

void WorkerPool::Withdraw(int64_t interest) {
  absl::MutexLock lock(&mutex_);
  const auto found = task_by_interest_.find(interest);
  if (found == task_by_interest_.end()) return;
  const std::string task_id = found->second;
  task_by_interest_.erase(found);
  PoolTask& task = tasks_.at(task_id);
  task.interests.erase(interest);
  if (!task.interests.empty()) {
    UpdateWaiters();
    return;
  }
  if (const auto worker = workers_.find(task.worker_id); worker != workers_.end()) {
    worker->second.task_id.clear();
    // Until its next call, which says whether it is still at it.
    worker->second.unwanted_since = clock_.Monotonic();
  }
  // Without callbacks: the one that was there has been erased above.
  std::vector<Ended> nobody;
  End(task_id, worker::v1::TaskResult(), nobody);
}

worker::v1::SynchronizeResponse WorkerPool::Synchronize(
    const worker::v1::SynchronizeRequest& request, WorkerPlace place) {
  std::vector<Ended> ended;
  worker::v1::SynchronizeResponse response;
  response.set_next_synchronize_in_ms(kSynchronizeMs);
  {
    absl::MutexLock lock(&mutex_);
    if (dropped_.contains(request.worker_id())) {
      response.mutable_idle();
      return response;
    }
    // Before this worker is looked at, so that a task it could take is free by then.
    LoseSilent(ended);
    EndOverdue(ended);
    Worker& worker = workers_[request.worker_id()];
    worker.device = request.device();
    worker.place = place;
    worker.heard_at = clock_.Monotonic();
    worker.synchronized_at = clock_.Now();
    HearState(request, worker, ended);
    if (!worker.is_busy() && !request.prefer_being_idle()) {
      Assign(request.worker_id(), worker);
    }
    if (worker.task_id.empty()) {
      response.mutable_idle();
    } else {
      *response.mutable_task() = tasks_.at(worker.task_id).task;
    }
    AssignmentsChanged();
  }
  Tell(ended);
  return response;
}

void WorkerPool::HearState(const worker::v1::SynchronizeRequest& request, Worker& worker,
                           std::vector<Ended>& ended) {
  if (request.has_executing() && !IsAtItsTask(request.executing(), worker)) {
    // It works for nobody. What it does will end or be stopped, and until then a task that is given
    // to it would only wait.
    if (!worker.unwanted_since) worker.unwanted_since = worker.heard_at;
    if (!worker.task_id.empty()) TakeBack(worker);
    return;
  }
  worker.unwanted_since.reset();
  // An idle worker with a task has not heard of it yet, and is told again.
  if (request.has_completed()) TakeResult(request.completed(), worker, ended);
}

bool WorkerPool::IsAtItsTask(const worker::v1::Executing& executing, const Worker& worker) const {
  return executing.task_id() == worker.task_id && !worker.task_id.empty() &&
         executing.attempt() == tasks_.at(worker.task_id).task.attempt();
}

void WorkerPool::TakeBack(Worker& worker) {
  const std::string task_id = std::exchange(worker.task_id, "");
  PoolTask& task = tasks_.at(task_id);
  task.task.set_attempt(task.task.attempt() - 1);
  task.worker_id.clear();
  waiting_.push_front(task_id);
}

void WorkerPool::TakeResult(const worker::v1::Completed& completed, Worker& worker,
                            std::vector<Ended>& ended) {
  // An answer that comes late, or twice, or after a restart of the server: the task belongs to
  // somebody else now, or to nobody.
  if (worker.task_id != completed.task_id()) return;
  const auto found = tasks_.find(completed.task_id());
  if (found == tasks_.end() || found->second.task.attempt() != completed.attempt()) return;
  worker.task_id.clear();
  const worker::v1::TaskResult& result = completed.result();
  // The worker may be at fault (out of memory, a lost driver), so another one gets it.
  if (result.has_error() && !IsFinalError(result.error())) {
    Retry(completed.task_id(), result, "retried", ended);
    return;
  }
  Count(found->second, result.has_error() ? "error" : "ok");
  End(completed.task_id(), result, ended);
}

void WorkerPool::Assign(const std::string& worker_id, Worker& worker) {
  // A worker that is idle stays so; what waits is withdrawn by its jobs.
  if (draining_) return;
  if (SharesProcessor(worker) && IsProcessorTaken(worker.device)) return;
  // Linear: a search asks one question at a time, so as many wait as jobs run.
  auto next = waiting_.end();
  int64_t next_turn = 0;
  for (auto waiting = waiting_.begin(); waiting != waiting_.end(); ++waiting) {
    const PoolTask& task = tasks_.at(*waiting);
    if (!IsSameDevice(task.device, worker.device)) continue;
    const auto turn = turns_.find(task.tenant);
    const int64_t last_turn = turn == turns_.end() ? 0 : turn->second;
    if (next != waiting_.end() && last_turn >= next_turn) continue;
    next = waiting;
    next_turn = last_turn;
  }
  if (next == waiting_.end()) return;
  PoolTask& task = tasks_.at(*next);
  if (turns_.size() >= kTenantTurnsMax) turns_.clear();
  turns_[task.tenant] = ++last_turn_;
  waiting_.erase(next);
  task.worker_id = worker_id;
  task.task.set_attempt(task.task.attempt() + 1);
  if (task.task.deadline_seconds() > 0) {
    task.ends_at =
        clock_.Monotonic() + absl::Seconds(task.task.deadline_seconds()) + options_.deadline_grace;
  }
  worker.task_id = task.task.task_id();
}

void WorkerPool::Retry(const std::string& task_id, worker::v1::TaskResult result,
                       absl::string_view outcome, std::vector<Ended>& ended) {
  PoolTask& task = tasks_.at(task_id);
  Count(task, outcome);
  if (task.task.attempt() >= kAttemptsMax) {
    result.mutable_error()->set_message(absl::StrCat(result.error().message(), " (attempt ",
                                                     task.task.attempt(), ", the last one)"));
    End(task_id, std::move(result), ended);
    return;
  }
  task.worker_id.clear();
  // In front of tasks that came later: its job has waited longest.
  waiting_.push_front(task_id);
}

void WorkerPool::End(const std::string& task_id, worker::v1::TaskResult result,
                     std::vector<Ended>& ended) {
  const auto found = tasks_.find(task_id);
  Ended end;
  for (auto& [number, interest] : found->second.interests) {
    task_by_interest_.erase(number);
    end.callbacks.push_back(std::move(interest.done));
  }
  end.result = std::move(result);
  task_by_content_.erase(found->second.content_hash);
  waiting_.erase(std::remove(waiting_.begin(), waiting_.end(), task_id), waiting_.end());
  tasks_.erase(found);
  AssignmentsChanged();
  ended.push_back(std::move(end));
}

void WorkerPool::Lose(const std::string& worker_id, std::vector<Ended>& ended) {
  const auto found = workers_.find(worker_id);
  if (found == workers_.end()) return;
  const std::string task_id = found->second.task_id;
  workers_.erase(found);
  if (!task_id.empty()) {
    // First in `ended`: whoever hears of the task's end has heard why before.
    Ended& lost = ended.emplace_back();
    lost.lost_worker_id = worker_id;
    for (const auto& [number, interest] : tasks_.at(task_id).interests) {
      if (interest.lost) lost.lost_callbacks.push_back(interest.lost);
    }
    Retry(task_id,
          ErrorResult(absl::StatusCode::kAborted,
                      absl::StrCat("worker ", worker_id, " died or went silent during the task")),
          "lost", ended);
  }
  AssignmentsChanged();
}

void WorkerPool::Tell(const std::vector<Ended>& ended) {
  for (const Ended& end : ended) {
    for (const LostCallback& callback : end.lost_callbacks) callback(end.lost_worker_id);
    for (const ResultCallback& callback : end.callbacks) callback(end.result);
  }
}

void WorkerPool::LoseSilent(std::vector<Ended>& ended) {
  // Collected first, because Lose changes the map.
  std::vector<std::string> silent;
  for (const auto& [id, worker] : workers_) {
    if (clock_.Monotonic() - worker.heard_at > options_.silence_max) silent.push_back(id);
  }
  for (const std::string& id : silent) Lose(id, ended);
}

void WorkerPool::EndOverdue(std::vector<Ended>& ended) {
  for (auto& [id, worker] : workers_) {
    if (worker.task_id.empty()) continue;
    const PoolTask& task = tasks_.at(worker.task_id);
    if (clock_.Monotonic() <= task.ends_at) continue;
    // It is still at the task, and the next call will not change that.
    worker.unwanted_since = clock_.Monotonic();
    Count(task, "error");
    worker::v1::TaskResult result =
        ErrorResult(absl::StatusCode::kDeadlineExceeded,
                    absl::StrCat("the task took longer than its ", task.task.deadline_seconds(),
                                 " s (task_seconds_max; a kernel hangs, or is far too slow)"));
    // It would have ended the task itself otherwise.
    result.mutable_error()->set_hangs(true);
    End(std::exchange(worker.task_id, ""), std::move(result), ended);
  }
}

void WorkerPool::CheckTimes() {
  std::vector<Ended> ended;
  {
    absl::MutexLock lock(&mutex_);
    LoseSilent(ended);
    EndOverdue(ended);
  }
  Tell(ended);
}

void WorkerPool::DropWorker(absl::string_view worker_id, const absl::Status& task_error) {
  std::vector<Ended> ended;
  {
    absl::MutexLock lock(&mutex_);
    const auto found = workers_.find(worker_id);
    if (!task_error.ok() && found != workers_.end() && !found->second.task_id.empty()) {
      const std::string task_id = std::exchange(found->second.task_id, "");
      Count(tasks_.at(task_id), "error");
      End(task_id, ErrorResult(task_error.code(), std::string(task_error.message())), ended);
    }
    Lose(std::string(worker_id), ended);
    dropped_.insert(std::string(worker_id));
  }
  Tell(ended);
}

void WorkerPool::Drain() {
  absl::MutexLock lock(&mutex_);
  draining_ = true;
}

bool WorkerPool::HasWorkFor(const v1::Device& device) const {
  if (draining_) return true;
  return !IsProcessorTaken(device) &&
         std::any_of(waiting_.begin(), waiting_.end(), [&](const std::string& id) {
           return IsSameDevice(tasks_.at(id).device, device);
         });
}

void WorkerPool::AwaitWork(const v1::Device& device, absl::Duration time_max) {
  absl::MutexLock lock(&mutex_);
  const auto has_work = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return HasWorkFor(device); };
  mutex_.AwaitWithTimeout(absl::Condition(&has_work), time_max);
}

void WorkerPool::Count(const PoolTask& task, absl::string_view outcome) const {
  if (options_.task_ended) options_.task_ended(KindOf(task.task), outcome);
}

void WorkerPool::ForgetJob(absl::string_view job_id) {
  absl::MutexLock lock(&mutex_);
  waiters_.erase(job_id);
}

void WorkerPool::AssignmentsChanged() {
  UpdateMeasuring();
  UpdateWaiters();
}

void WorkerPool::UpdateWaiters() {
  absl::flat_hash_set<absl::string_view> waiting;
  absl::flat_hash_set<absl::string_view> at_work;
  for (const auto& [id, task] : tasks_) {
    const bool is_device_busy =
        std::any_of(workers_.begin(), workers_.end(), [&task = task](const auto& entry) {
          return !entry.second.task_id.empty() && IsSameDevice(entry.second.device, task.device);
        });
    for (const auto& [number, interest] : task.interests) {
      if (!task.worker_id.empty()) at_work.insert(interest.job_id);
      if (task.worker_id.empty() && is_device_busy) waiting.insert(interest.job_id);
    }
  }
  const absl::Duration now = clock_.Monotonic();
  for (auto& [job_id, waiter] : waiters_) {
    const bool waits = waiting.contains(job_id) && !at_work.contains(job_id);
    if (waits == waiter.since.has_value()) continue;
    if (waits) {
      waiter.since = now;
    } else {
      waiter.waited += now - *std::exchange(waiter.since, std::nullopt);
    }
  }
}

void WorkerPool::UpdateMeasuring() {
  // Only the processor is shared with searches: a GPU is not disturbed by them.
  const bool measuring = std::any_of(workers_.begin(), workers_.end(), [](const auto& entry) {
    return entry.second.is_busy() && SharesProcessor(entry.second);
  });
  // Signals to all children are not free, and most calls of workers change nothing.
  if (measuring == measuring_) return;
  measuring_ = measuring;
  if (options_.measuring_here) options_.measuring_here(measuring);
}

}  // namespace plait
