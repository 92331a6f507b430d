#include "server/jobs/job_conversation.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "proto/wire/error.h"
#include "proto/wire/measurement.h"
#include "proto/wire/profile.h"
#include "server/search_child/protocol/frame.h"

namespace plait {
namespace {

// What the child gets to send its incumbent when the time is over.
constexpr absl::Duration kDeadlineGrace = absl::Seconds(30);
// One line for people.
constexpr size_t kEventTextBytesMax = 1000;
// A search asks one question at a time; more are kept for later versions.
constexpr size_t kOpenQuestionsMax = 64;
constexpr size_t kQuestionsMax = 1'000'000;
// Between two events of progress: each is a write to the disk. Of a long job a thousandth of its
// time, so that they leave room for others among its events.
constexpr absl::Duration kProgressInterval = absl::Seconds(1);
constexpr int kProgressEventsMax = 1000;

void SetProgress(const JobProgress::Estimate& estimate, v1::Event& event) {
  event.set_fraction(estimate.fraction);
  event.set_seconds_left(estimate.seconds_left);
}

ConversationEnd EndingOf(ConversationOutcome outcome, absl::Status status = absl::OkStatus()) {
  return {outcome, std::move(status), std::nullopt};
}

// Of a child's failure.
ConversationOutcome OutcomeOf(v1::ErrorReason reason) {
  switch (reason) {
    // It writes to the daemon's disk, and meets a full one first: the job is not at fault.
    case v1::ERROR_REASON_STORAGE_UNAVAILABLE:
      return ConversationOutcome::kStorage;
    case v1::ERROR_REASON_CRASHED:
      return ConversationOutcome::kWorkersLost;
    default:
      return ConversationOutcome::kFailure;
  }
}

}  // namespace

JobConversation::JobConversation(const ConversationContext& context, const LeasedJob& job,
                                 const v1::Device& device, const JobFiles& files,
                                 std::shared_ptr<Wakeup> wakeup)
    : context_(context),
      job_(job),
      device_(device),
      weights_(files.weights),
      models_(files.models),
      wakeup_(std::move(wakeup)),
      mailbox_(std::make_shared<Mailbox>(wakeup_)) {}

JobConversation::~JobConversation() {
  for (const auto& [number, question] : open_) context_.pool.Withdraw(question.interest);
  context_.pool.ForgetJob(job_.job.id());
}

ConversationEnd JobConversation::Run(SearchChildProcess& child,
                                     const ConversationOptions& options) {
  began_ = context_.clock.Monotonic();
  next_heartbeat_ = began_ + options.lease / 4;
  while (true) {
    std::optional<ConversationEnd> end = Step(child, options);
    if (end) return *std::move(end);
  }
}

std::optional<ConversationEnd> JobConversation::Step(SearchChildProcess& child,
                                                     const ConversationOptions& options) {
  if (std::optional<ConversationEnd> end = CheckTimes(child, options)) return end;
  TellProgress(options);
  EndLateQuestions();
  if (absl::Status status = ForwardAnswers(child); !status.ok()) {
    return EndingOf(ConversationOutcome::kFault, std::move(status));
  }
  absl::StatusOr<std::optional<internal::ChildMessage>> message =
      child.Receive(wakeup_->descriptor(), absl::Seconds(1));
  if (!message.ok()) {
    // A child that dies of its deadline is no fault of the job's: it would be counted as one.
    if (deadline_sent_) return EndingOf(ConversationOutcome::kDeadline);
    const bool is_limit = absl::IsResourceExhausted(message.status());
    return EndingOf(is_limit ? ConversationOutcome::kLimit : ConversationOutcome::kFault,
                    message.status());
  }
  if (!message->has_value()) return std::nullopt;
  return Take(child, **std::move(message), options);
}

std::optional<ConversationEnd> JobConversation::CheckTimes(SearchChildProcess& child,
                                                           const ConversationOptions& options) {
  wakeup_->Clear();
  if (*options.stopping) return EndingOf(ConversationOutcome::kStopped);
  // A storage that does not answer is no wish to cancel: the heartbeat tells if the lease is lost.
  const absl::StatusOr<v1::Job> job = context_.jobs.Get(job_.job.tenant(), job_.job.id());
  if (job.ok() && job->cancel_requested()) return EndingOf(ConversationOutcome::kCancelled);
  const absl::Duration now = context_.clock.Monotonic();
  if (now >= next_heartbeat_) {
    next_heartbeat_ = now + options.lease / 4;
    weights_.NoteUse();
    models_.NoteUse();
    const absl::StatusOr<bool> cancelled = context_.jobs.Heartbeat(job_.lease, options.lease);
    // Any other error is the storage's, and the next heartbeat tries again while the lease lasts.
    if (absl::IsAborted(cancelled.status())) return EndingOf(ConversationOutcome::kLeaseLost);
    if (cancelled.ok() && *cancelled) return EndingOf(ConversationOutcome::kCancelled);
  }
  const absl::Duration deadline = began_ + options.time_max + TimeOfOthers(child);
  if (now > deadline + kDeadlineGrace) return EndingOf(ConversationOutcome::kDeadline);
  if (now > deadline && !deadline_sent_) {
    internal::ParentMessage message;
    message.mutable_deadline();
    deadline_sent_ = true;
    if (!child.Send(message).ok()) return EndingOf(ConversationOutcome::kDeadline);
  }
  return std::nullopt;
}

absl::Duration JobConversation::TimeOfOthers(const SearchChildProcess& child) {
  return StoppedForOthers(child) + context_.pool.WaitedForOthers(job_.job.id());
}

absl::Duration JobConversation::StoppedForOthers(const SearchChildProcess& child) {
  if (!open_.empty()) return stopped_before_question_;
  return stopped_before_question_ + context_.park.StoppedFor(child.process_id()) -
         stopped_until_answer_;
}

std::optional<ConversationEnd> JobConversation::Take(SearchChildProcess& child,
                                                     internal::ChildMessage message,
                                                     const ConversationOptions& options) {
  absl::Status status;
  stopped_before_question_ = StoppedForOthers(child);
  if (open_.empty()) stopped_until_answer_ = context_.park.StoppedFor(child.process_id());
  worker::v1::Task task;
  task.set_deadline_seconds(absl::ToDoubleSeconds(options.task_time_max));
  switch (message.message_case()) {
    case internal::ChildMessage::kEvent:
      status = TakeEvent(message.event());
      break;
    case internal::ChildMessage::kLoadEffect:
      status = KeepLoadEffect(message.load_effect());
      break;
    case internal::ChildMessage::kProfileRequest:
      *task.mutable_profile() = std::move(*message.mutable_profile_request()->mutable_task());
      // The child has one device, and it is not the child who chooses it.
      task.mutable_profile()->set_device_fingerprint(device_.fingerprint());
      status = Ask(message.profile_request().request_number(), std::move(task), device_);
      break;
    case internal::ChildMessage::kMeasureRequest:
      *task.mutable_measure() = std::move(*message.mutable_measure_request()->mutable_task());
      weights_.NameIn(job_.job.model(), task);
      status = CheckInputs(task.measure());
      if (!status.ok()) break;
      status = Ask(message.measure_request().request_number(), std::move(task), device_);
      break;
    case internal::ChildMessage::kMeasureModelsRequest:
      status = AskRuntime(*message.mutable_measure_models_request(), options.task_time_max);
      break;
    case internal::ChildMessage::kBlobsWritten:
      status = models_.Store(message.blobs_written());
      if (!status.ok() && !absl::IsInvalidArgument(status)) {
        return EndingOf(ConversationOutcome::kStorage, std::move(status));
      }
      break;
    case internal::ChildMessage::kWeightsWritten:
      status = weights_.Store();
      if (!status.ok() && !absl::IsInvalidArgument(status)) {
        return EndingOf(ConversationOutcome::kStorage, std::move(status));
      }
      break;
    case internal::ChildMessage::kStoppedTimeRequest: {
      internal::ParentMessage reply;
      reply.mutable_stopped_time_reply()->set_stopped_us(
          absl::ToInt64Microseconds(TimeOfOthers(child)));
      status = child.Send(reply);
      break;
    }
    case internal::ChildMessage::kResult:
      return ConversationEnd{
          deadline_sent_ ? ConversationOutcome::kDeadline : ConversationOutcome::kResult,
          absl::OkStatus(), std::move(*message.mutable_result())};
    case internal::ChildMessage::kFailure: {
      status = wire::Error(message.failure().reason(), message.failure().message());
      if (deadline_sent_) return EndingOf(ConversationOutcome::kDeadline, std::move(status));
      return EndingOf(OutcomeOf(message.failure().reason()), std::move(status));
    }
    case internal::ChildMessage::MESSAGE_NOT_SET:
      status = Lie("an empty message");
  }
  if (status.ok()) return std::nullopt;
  return EndingOf(ConversationOutcome::kFault, std::move(status));
}

absl::Status JobConversation::TakeEvent(const v1::Event& event) {
  switch (event.type()) {
    case v1::EVENT_TYPE_PHASE:
    case v1::EVENT_TYPE_PROGRESS:
    case v1::EVENT_TYPE_INCUMBENT:
    case v1::EVENT_TYPE_MEASURED:
      break;
    default:
      return Lie("an event that only the daemon may send");
  }
  // Field by field, so that whatever an event may say later is not passed on unchecked.
  v1::Event checked;
  checked.set_type(event.type());
  checked.set_text(wire::ValidUtf8(event.text(), kEventTextBytesMax));
  checked.set_fraction(event.fraction() >= 0 && event.fraction() <= 1 ? event.fraction() : 0);
  checked.set_speedup(event.speedup() >= 0 ? event.speedup() : 0);
  if (event.type() == v1::EVENT_TYPE_PHASE || event.type() == v1::EVENT_TYPE_PROGRESS) {
    const absl::Duration now = context_.clock.Monotonic();
    // Written so that NaN fails.
    const bool is_time = event.seconds_left() >= 0 && event.seconds_left() <= kBudgetSecondsMax;
    progress_.Heard(checked.fraction(), is_time ? event.seconds_left() : 0, now);
    SetProgress(progress_.At(now), checked);
    next_progress_ = std::min(next_progress_, now + kProgressInterval);
  }
  Record(checked);
  return absl::OkStatus();
}

void JobConversation::Record(const v1::Event& event) {
  context_.jobs.AppendEvent(job_.lease, event).IgnoreError();
}

void JobConversation::TellProgress(const ConversationOptions& options) {
  std::vector<std::string> lost_workers;
  {
    absl::MutexLock lock(&mailbox_->mutex);
    lost_workers.swap(mailbox_->lost_workers);
  }
  for (const std::string& text : lost_workers) {
    v1::Event event;
    event.set_type(v1::EVENT_TYPE_WORKER_LOST);
    event.set_text(wire::ValidUtf8(text, kEventTextBytesMax));
    Record(event);
  }
  const absl::Duration now = context_.clock.Monotonic();
  if (now < next_progress_) return;
  next_progress_ = now + std::max(kProgressInterval, options.time_max / kProgressEventsMax);
  v1::Event event;
  event.set_type(v1::EVENT_TYPE_PROGRESS);
  SetProgress(progress_.At(now), event);
  Record(event);
}

absl::Status JobConversation::Ask(int64_t number, worker::v1::Task task, const v1::Device& device,
                                  absl::Duration ends_at) {
  // A number that is used again could take the reply of the question before.
  if (!used_numbers_.insert(number).second) return Lie("a request number was used twice");
  if (open_.size() >= kOpenQuestionsMax || used_numbers_.size() > kQuestionsMax) {
    return Lie("too many requests");
  }
  const int64_t parsed_bytes = static_cast<int64_t>(task.SpaceUsedLong());
  int64_t open_bytes = parsed_bytes;
  for (const auto& [other, question] : open_) open_bytes += question.parsed_bytes;
  // A single one is as large as a message may be.
  if (!open_.empty() && open_bytes > kChildMessageParsedBytesMax) {
    return Lie(absl::StrCat("its open requests take ", open_bytes,
                            " bytes of memory; the limit is ", kChildMessageParsedBytesMax));
  }
  PLAIT_ASSIGN_OR_RETURN(std::vector<std::string> names, NamesIn(task));
  Question& question = open_[number];
  question.parsed_bytes = parsed_bytes;
  question.ends_at = ends_at;
  question.names = std::move(names);
  const auto kind = task.work_case();
  question.interest = context_.pool.Submit(
      device, std::move(task),
      [mailbox = mailbox_, number, kind](const worker::v1::TaskResult& result) {
        {
          absl::MutexLock lock(&mailbox->mutex);
          mailbox->answers.push_back({number, kind, result});
        }
        mailbox->wakeup->Signal();
      },
      {job_.job.tenant(), job_.job.id()},
      [mailbox = mailbox_](absl::string_view worker_id) {
        {
          absl::MutexLock lock(&mailbox->mutex);
          mailbox->lost_workers.push_back(
              absl::StrCat("worker ", worker_id, " died or went silent"));
        }
        mailbox->wakeup->Signal();
      });
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> JobConversation::NamesIn(
    const worker::v1::Task& task) const {
  std::vector<std::string> names;
  for (const worker::v1::KernelRequest& kernel : task.profile().kernels()) {
    // What is measured is what the fields say, and its time is kept for all under the key.
    if (kernel.key() != wire::KeyOf(kernel, device_.fingerprint()).ToString()) {
      return Lie("a key that is not its kernel's");
    }
    names.push_back(kernel.key());
  }
  for (const worker::v1::Candidate& candidate : task.measure().candidates()) {
    names.push_back(candidate.id());
  }
  for (const v1::Digest& model : task.measure_models().models()) {
    names.push_back(model.sha256_hex());
  }
  return names;
}

absl::Status JobConversation::CheckInputs(const worker::v1::MeasureTask& task) const {
  std::set<std::pair<std::string, int64_t>> of_job;
  for (const v1::InputSet& set : job_.job.options().input_sets()) {
    for (const v1::InputValue& value : set.values()) {
      of_job.emplace(value.blob().sha256_hex(), value.blob().size_bytes());
    }
  }
  if (task.input_sets_size() > kInputSetsMax) return Lie("more inputs than a job may have");
  for (const v1::InputSet& set : task.input_sets()) {
    for (const v1::InputValue& value : set.values()) {
      if (of_job.contains({value.blob().sha256_hex(), value.blob().size_bytes()})) continue;
      return Lie("an input that is not the job's");
    }
  }
  return absl::OkStatus();
}

}  // namespace plait
