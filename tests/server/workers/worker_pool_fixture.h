#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "server/workers/worker_pool.h"
#include "tests/base/manual_clock.h"

namespace plait {

inline v1::Device Cpu() {
  v1::Device device;
  device.set_id("cpu");
  device.set_fingerprint("cpu-1");
  return device;
}

inline worker::v1::Task ProfileTaskOf(const std::string& key) {
  worker::v1::Task task;
  task.mutable_profile()->add_kernels()->set_key(key);
  return task;
}

class WorkerPoolTest : public testing::Test {
 protected:
  WorkerPoolTest()
      : pool_(clock_, {.silence_max = absl::Seconds(10),
                       .task_ended = nullptr,
                       .measuring_here = [this](bool on) { measuring_.push_back(on); }}) {}

  int64_t Submit(const std::string& key, const std::string& tenant = "",
                 const std::string& job_id = "") {
    return pool_.Submit(
        Cpu(), ProfileTaskOf(key),
        [this](const worker::v1::TaskResult& result) { results_.push_back(result); },
        {tenant, job_id});
  }

  // Lets time go by in which the worker is at `task`.
  void Work(const std::string& worker, const worker::v1::Task& task, absl::Duration time) {
    for (; time > absl::ZeroDuration(); time -= absl::Seconds(5)) {
      clock_.Advance(absl::Seconds(5));
      Executing(worker, task);
    }
  }

  worker::v1::SynchronizeRequest From(const std::string& worker) {
    worker::v1::SynchronizeRequest request;
    request.set_worker_id(worker);
    *request.mutable_device() = Cpu();
    request.mutable_idle();
    return request;
  }

  worker::v1::SynchronizeResponse Idle(const std::string& worker) {
    return pool_.Synchronize(From(worker), WorkerPlace::kThisHost);
  }

  worker::v1::SynchronizeResponse Complete(const std::string& worker, const worker::v1::Task& task,
                                           const worker::v1::TaskResult& result) {
    worker::v1::SynchronizeRequest request = From(worker);
    request.mutable_completed()->set_task_id(task.task_id());
    request.mutable_completed()->set_attempt(task.attempt());
    *request.mutable_completed()->mutable_result() = result;
    return pool_.Synchronize(request, WorkerPlace::kThisHost);
  }

  // A call of a worker that is still at `task`.
  worker::v1::SynchronizeResponse Executing(const std::string& worker,
                                            const worker::v1::Task& task) {
    worker::v1::SynchronizeRequest request = From(worker);
    request.mutable_executing()->set_task_id(task.task_id());
    request.mutable_executing()->set_attempt(task.attempt());
    return pool_.Synchronize(request, WorkerPlace::kThisHost);
  }

  static worker::v1::TaskResult Success() {
    worker::v1::TaskResult result;
    result.mutable_profile();
    return result;
  }

  static worker::v1::TaskResult Error(absl::StatusCode code) {
    worker::v1::TaskResult result;
    result.mutable_error()->set_code(static_cast<int>(code));
    result.mutable_error()->set_message("no luck");
    return result;
  }

  ManualClock clock_;
  std::vector<bool> measuring_;
  std::vector<worker::v1::TaskResult> results_;
  WorkerPool pool_;
};

}  // namespace plait
