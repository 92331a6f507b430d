#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/digest.h"
#include "proto/wire/digest.h"
#include "server/jobs/job_artifacts.h"
#include "server/jobs/job_conversation.h"
#include "storage/stores.h"
#include "tests/base/manual_clock.h"
#include "tests/server/jobs/asked_kernel.h"

namespace plait {

inline v1::Device Fast() {
  v1::Device device;
  device.set_id("fast");
  device.set_fingerprint("fast-1");
  device.set_runtime_version("1");
  return device;
}

inline v1::Device Cpu() {
  v1::Device device;
  device.set_id("cpu");
  device.set_fingerprint("cpu-1");
  return device;
}

class JobConversationTest : public testing::Test {
 protected:
  JobConversationTest() : stores_(*OpenStores("memory", {}, clock_)), pool_(clock_, {}) {
    v1::Job job;
    job.set_id("job-1");
    job.set_tenant("t");
    *job.mutable_model() = wire::DigestToProto(DigestOf("model"));
    job.mutable_options()->set_device("cpu");
    *job.mutable_options()->add_input_sets()->add_values()->mutable_blob() =
        wire::DigestToProto(DigestOf("an input"));
    EXPECT_TRUE(stores_.jobs->Submit({job, "", ""}).ok());
    job_ = **stores_.jobs->Acquire({"test", {"cpu"}, absl::Minutes(1)});
  }

  // Talks with a child that behaves so.
  ConversationEnd Talk(const std::string& how) {
    const absl::StatusOr<FileDescriptor> output = OpenOutputFile(testing::TempDir());
    SearchChildOptions options;
    options.program = PLAIT_FAKE_SEARCH_CHILD;
    const absl::StatusOr<FileDescriptor> weights = OpenOutputFile(testing::TempDir());
    const auto child = SearchChildProcess::Start(
        options, {output->number(), output->number(), weights->number(), output->number()});
    EXPECT_TRUE(child.ok()) << child.status();
    internal::ParentMessage message;
    message.mutable_start()->mutable_options()->set_search(how);
    EXPECT_TRUE((*child)->Send(message).ok());
    park_.Add((*child)->process_id());
    if (stopped_for_others_ > absl::ZeroDuration()) {
      park_.SetQuiet(true);
      clock_.Advance(stopped_for_others_);
      park_.SetQuiet(false);
    }
    JobWeights job_weights(*stores_.blobs, weights->number());
    JobModels job_models(*stores_.blobs, output->number(), {Fast()});
    JobConversation conversation({*stores_.jobs, *stores_.profiles, pool_, park_, clock_}, job_,
                                 Cpu(), {job_weights, job_models}, wakeup_);
    return conversation.Run(**child, {time_max_, lease_, task_time_max_, &stopping_});
  }

  static worker::v1::SynchronizeRequest Idle() {
    worker::v1::SynchronizeRequest request;
    request.set_worker_id("w1");
    *request.mutable_device() = Cpu();
    request.mutable_idle();
    return request;
  }

  void ExpectThatNoTaskWaits() {
    EXPECT_TRUE(pool_.Synchronize(Idle(), WorkerPlace::kElsewhere).has_idle());
  }

  // Takes the one task as a worker would, and answers with this.
  worker::v1::Task AnswerOneTask(const worker::v1::TaskResult& result,
                                 const v1::Device& device = Cpu()) {
    pool_.AwaitWork(device, absl::Minutes(1));
    worker::v1::SynchronizeRequest request = Idle();
    *request.mutable_device() = device;
    const worker::v1::Task task = pool_.Synchronize(request, WorkerPlace::kElsewhere).task();
    worker::v1::Completed& completed = *request.mutable_completed();
    completed.set_task_id(task.task_id());
    completed.set_attempt(task.attempt());
    *completed.mutable_result() = result;
    pool_.Synchronize(request, WorkerPlace::kElsewhere);
    return task;
  }

  // With a profile of this kernel.
  worker::v1::Task AnswerOneTask(const std::string& key) {
    worker::v1::TaskResult result;
    worker::v1::KernelProfile& profile = *result.mutable_profile()->add_profiles();
    profile.set_key(key);
    profile.mutable_profile()->set_latency_us_median(2.5);
    profile.mutable_profile()->set_samples(9);
    return AnswerOneTask(result);
  }

  // With an error that another worker would give, too.
  worker::v1::Task FailOneTask() {
    worker::v1::TaskResult result;
    result.mutable_error()->set_code(static_cast<int>(absl::StatusCode::kInvalidArgument));
    result.mutable_error()->set_message("not so");
    return AnswerOneTask(result);
  }

  // The worker takes the task of another job.
  worker::v1::Task TakeAnothersTask() {
    worker::v1::Task others;
    others.mutable_profile()->add_kernels()->set_key("others");
    pool_.Submit(Cpu(), others, [](const worker::v1::TaskResult&) {}, {"t", "job-2"});
    return pool_.Synchronize(Idle(), WorkerPlace::kElsewhere).task();
  }

  // Answers the one task when the worker has been at `others` for so long after the child asked.
  void AnswerOneTaskAfter(const worker::v1::Task& others, absl::Duration time) {
    worker::v1::SynchronizeRequest request = Idle();
    // Until the child has asked.
    pool_.AwaitWork(Cpu(), absl::Minutes(1));
    for (; time > absl::ZeroDuration(); time -= absl::Seconds(10)) {
      clock_.Advance(absl::Seconds(10));
      request.mutable_executing()->set_task_id(others.task_id());
      request.mutable_executing()->set_attempt(others.attempt());
      pool_.Synchronize(request, WorkerPlace::kElsewhere);
    }
    request.mutable_completed()->set_task_id(others.task_id());
    request.mutable_completed()->set_attempt(others.attempt());
    request.mutable_completed()->mutable_result()->mutable_profile();
    request.set_prefer_being_idle(true);
    pool_.Synchronize(request, WorkerPlace::kElsewhere);
    AnswerOneTask(AskedKernel().ToString());
  }

  std::vector<v1::Event> Events() { return *stores_.jobs->Events("t", "job-1", 0, 100); }

  std::vector<v1::StoredProfile> StoredProfiles() {
    return *stores_.profiles->List("", {"", ""}, 100);
  }

  ManualClock clock_;
  Stores stores_;
  WorkerPool pool_;
  SearchPark park_{clock_};
  LeasedJob job_;
  absl::Duration stopped_for_others_ = absl::ZeroDuration();
  absl::Duration time_max_ = absl::Minutes(1);
  absl::Duration lease_ = absl::Minutes(1);
  absl::Duration task_time_max_ = absl::Seconds(90);
  std::atomic<bool> stopping_ = false;
  std::shared_ptr<Wakeup> wakeup_ = std::make_shared<Wakeup>();
};

}  // namespace plait
