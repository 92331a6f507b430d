// What comes back from workers.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "proto/wire/profile.h"
#include "server/jobs/job_conversation.h"

namespace plait {
namespace {

// What a task of a runtime may take beyond the time that was asked for: models are fetched, loaded
// and packed, and each load of a large one takes seconds.
constexpr double kRuntimeTimeFactor = 2;
constexpr absl::Duration kRuntimeTime = absl::Seconds(20);
// An interpreter starts and imports what it needs.
constexpr absl::Duration kRuntimeStartTime = absl::Seconds(15);

// Whether a worker's answer is about what it was asked, in the same order; an error is about all.
bool IsAbout(const worker::v1::TaskResult& result, const std::vector<std::string>& names) {
  if (result.has_error()) return true;
  // Models have no names of their own: their order tells.
  if (result.has_measure_models()) {
    return result.measure_models().models_size() == static_cast<int>(names.size());
  }
  std::vector<std::string> answered;
  for (const auto& profile : result.profile().profiles()) answered.push_back(profile.key());
  for (const auto& candidate : result.measure().candidates()) answered.push_back(candidate.id());
  return answered == names;
}

worker::v1::TaskResult AnswerAboutAnotherTask() {
  worker::v1::TaskResult result;
  result.mutable_error()->set_code(static_cast<int>(absl::StatusCode::kInternal));
  result.mutable_error()->set_message("the worker's answer is about another task");
  return result;
}

template <typename Reply>
void Fill(int64_t number, worker::v1::TaskResult result, Reply* reply) {
  reply->set_request_number(number);
  *reply->mutable_result() = std::move(result);
}

}  // namespace

internal::ParentMessage JobConversation::ReplyOf(Answer& answer) {
  internal::ParentMessage message;
  switch (answer.kind) {
    case worker::v1::Task::kProfile:
      Fill(answer.number, std::move(answer.result), message.mutable_profile_reply());
      break;
    case worker::v1::Task::kMeasureModels:
      Fill(answer.number, std::move(answer.result), message.mutable_measure_models_reply());
      break;
    default:
      Fill(answer.number, std::move(answer.result), message.mutable_measure_reply());
  }
  return message;
}

absl::Status JobConversation::ForwardAnswers(SearchChildProcess& child) {
  std::vector<Answer> answers;
  {
    absl::MutexLock lock(&mailbox_->mutex);
    answers.swap(mailbox_->answers);
  }
  for (Answer& answer : answers) {
    const auto found = open_.find(answer.number);
    // Each question has one answer; a second one would be nobody's.
    if (found == open_.end()) continue;
    if (!IsAbout(answer.result, found->second.names)) answer.result = AnswerAboutAnotherTask();
    if (answer.result.has_profile()) KeepProfiles(answer.result.profile());
    open_.erase(found);
    if (open_.empty()) stopped_until_answer_ = context_.park.StoppedFor(child.process_id());
    PLAIT_RETURN_IF_ERROR(child.Send(ReplyOf(answer)));
  }
  return absl::OkStatus();
}

void JobConversation::EndLateQuestions() {
  const absl::Duration now = context_.clock.Monotonic();
  for (auto& [number, question] : open_) {
    if (now < question.ends_at) continue;
    question.ends_at = absl::InfiniteDuration();
    context_.pool.Withdraw(question.interest);
    Answer answer{number, worker::v1::Task::kMeasureModels, {}};
    answer.result.mutable_error()->set_code(static_cast<int>(absl::StatusCode::kDeadlineExceeded));
    answer.result.mutable_error()->set_message("the runtime's worker did not answer in time");
    absl::MutexLock lock(&mailbox_->mutex);
    mailbox_->answers.push_back(std::move(answer));
  }
}

absl::Status JobConversation::AskRuntime(internal::MeasureModelsRequest& request,
                                         absl::Duration task_time_max) {
  PLAIT_ASSIGN_OR_RETURN(const v1::Device runtime, models_.CheckRequest(request, job_.job));
  if (context_.runtimes != nullptr) context_.runtimes->StartWorker(runtime.id());
  worker::v1::Task task;
  *task.mutable_measure_models() = std::move(*request.mutable_task());
  // The time that was asked for is spent on rounds; loads come on top. Written so that NaN is none.
  const double seconds = task.measure_models().seconds_max();
  const absl::Duration asked = absl::Seconds(seconds > 0 ? seconds : 0);
  const absl::Duration time_max =
      std::min(task_time_max, kRuntimeTimeFactor * asked + kRuntimeTime);
  task.set_deadline_seconds(absl::ToDoubleSeconds(time_max));
  // Nobody else ends it while no worker serves the runtime.
  const absl::Duration ends_at = context_.clock.Monotonic() + time_max + kRuntimeStartTime;
  return Ask(request.request_number(), std::move(task), runtime, ends_at);
}

v1::StoredProfile JobConversation::NewProfile(absl::string_view key) const {
  v1::StoredProfile profile;
  profile.set_key(key.data(), key.size());
  profile.set_device_fingerprint(device_.fingerprint());
  profile.mutable_measure_time()->set_seconds(absl::ToUnixSeconds(context_.clock.Now()));
  return profile;
}

void JobConversation::KeepProfiles(const worker::v1::ProfileResult& result) {
  std::vector<v1::StoredProfile> stored;
  for (const worker::v1::KernelProfile& measured : result.profiles()) {
    if (!measured.has_profile()) continue;
    v1::StoredProfile profile = NewProfile(measured.key());
    *profile.mutable_profile() = measured.profile();
    if (wire::CheckStoredProfile(profile, "profile").ok()) stored.push_back(std::move(profile));
  }
  // A lost profile is measured again.
  context_.profiles.Put(stored).status().IgnoreError();
}

absl::Status JobConversation::KeepLoadEffect(const v1::LoadEffect& effect) {
  v1::StoredProfile profile = NewProfile(wire::kLoadEffectKey);
  *profile.mutable_load_effect() = effect;
  if (!wire::CheckStoredProfile(profile, "profile").ok()) {
    return absl::InvalidArgumentError(
        "the search child broke the protocol: a load effect that none can be");
  }
  context_.profiles.Put({profile}).status().IgnoreError();
  return absl::OkStatus();
}

}  // namespace plait
