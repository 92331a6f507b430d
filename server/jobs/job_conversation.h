#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "plait/internal/search_child.pb.h"
#include "server/jobs/job_models.h"
#include "server/jobs/job_progress.h"
#include "server/jobs/job_weights.h"
#include "server/jobs/search_child_process.h"
#include "server/jobs/search_park.h"
#include "server/jobs/wakeup.h"
#include "server/workers/runtimes.h"
#include "server/workers/worker_pool.h"
#include "storage/job_store.h"
#include "storage/profile_store.h"

namespace plait {

// How the conversation with a search child ended.
enum class ConversationOutcome {
  // Only kResult, kFailure and kWorkersLost are the child's own words; all others are what the
  // daemon saw.
  kResult,     // `result` is set
  kFailure,    // the child says that the job cannot be done: `status`
  kCancelled,  // the client wants it no more
  kDeadline,   // the time is over; `result` is set if the child had one
  kStopped,    // the daemon stops
  kLimit,      // the child met a limit: `status`
  kFault,      // the child died or lied: `status` is the evidence
  // The child says that the job cannot be done, for a task of it that no worker lived through, or
  // that one could not leave: `status`.
  kWorkersLost,
  kStorage,    // the storage failed: `status`
  kLeaseLost,  // another run of the job counts now
};

// The outcome with what belongs to it.
struct ConversationEnd {
  ConversationOutcome outcome = ConversationOutcome::kFault;
  // Its message is shown to the client, in Job.error or in the evidence of an attempt.
  absl::Status status;                     // OK unless the outcome says that it is set
  std::optional<internal::Result> result;  // as the child sent it: nothing in it was checked
};

// How long a conversation may go on, and who may end it early.
struct ConversationOptions {
  // On the monotonic clock from Run's beginning, without the time in which the child was stopped or
  // its question waited because other jobs measured.
  absl::Duration time_max;       // of the whole conversation, before the child is told
  absl::Duration lease;          // how far each heartbeat extends the lease
  absl::Duration task_time_max;  // of one task of a worker
  // Never null. Read about once a second, or at once when the wakeup is signalled with it.
  const std::atomic<bool>* stopping = nullptr;
};

// What a conversation works with; all of it must outlive it.
// The conversation holds no lock of its own while it calls them.
struct ConversationContext {
  JobStore& jobs;
  ProfileStore& profiles;
  WorkerPool& pool;
  SearchPark& park;
  Clock& clock;
  Runtimes* runtimes = nullptr;  // of this machine; null: there are none
};

// What the job's child writes for workers. Both must outlive the conversation.
struct JobFiles {
  JobWeights& weights;
  JobModels& models;
};

// Talks with the search child of one job until it ends: passes its questions to the workers and
// their answers back, records its events, keeps the lease. Believes nothing: a message that does
// not fit is the child's fault. Not thread-safe.
//
// The daemon's end of the protocol between a job's child and the workers. What it guarantees for
// the job: the lease is extended four times in its length, so that no other daemon takes a job that
// is making progress; and when the lease is lost all the same, the conversation ends at its next
// heartbeat. What it says of the job until then, the store refuses or drops.
class JobConversation {
 public:
  // `wakeup` ends a wait early; signalled when the job changed in the store or the daemon stops.
  // The job, the context and `files`, those of its child, are borrowed until the conversation is
  // destroyed. `device` is a copy: a worker that leaves later does not change whose times are
  // stored.
  JobConversation(const ConversationContext& context, const LeasedJob& job,
                  const v1::Device& device, const JobFiles& files, std::shared_ptr<Wakeup> wakeup);
  // Withdraws the questions that are still open.
  // An answer that arrives meanwhile falls into the mailbox, which the callback keeps alive.
  ~JobConversation();

  // Talks until one of the outcomes; every one but a child's own end leaves the child running, for
  // its owner to kill. Called once. REQUIRES: Start was sent; what `options` points to outlives the
  // call.
  //
  // Waits at most a second at a time, so that a cancellation, the deadline and the heartbeat are
  // never later than that. Blocks for seconds or hours: one thread per running job.
  ConversationEnd Run(SearchChildProcess& child, const ConversationOptions& options);

 private:
  // What a worker said to a question of the child's.
  // It is taken as it came, and goes to the child unread except for profiles, which are kept.
  struct Answer {
    int64_t number = 0;  // that the child gave to its question
    worker::v1::Task::WorkCase kind = worker::v1::Task::kMeasure;  // tells which reply it wants
    worker::v1::TaskResult result;
  };
  // Where workers' answers arrive, on any thread. Shared with the callbacks, one of which may still
  // be running when the conversation is gone.
  struct Mailbox {
    explicit Mailbox(std::shared_ptr<Wakeup> wakeup_given) : wakeup(std::move(wakeup_given)) {}
    // Held for a push or a swap only; nobody is called with it.
    absl::Mutex mutex;
    std::vector<Answer> answers ABSL_GUARDED_BY(mutex);
    std::vector<std::string> lost_workers ABSL_GUARDED_BY(mutex);  // what to tell of each
    const std::shared_ptr<Wakeup> wakeup;
  };
  // One that is open: asked by the child and not answered yet.
  // A child that repeats the number of one is at fault; see used_numbers_.
  struct Question {
    int64_t interest = 0;      // the pool's number of it
    int64_t parsed_bytes = 0;  // of memory, for its task: kept until it is answered
    // Keys of the kernels or ids of the candidates that were asked about. The worker's answer must
    // name the same ones in this order: otherwise one plan's outputs could vouch for another.
    std::vector<std::string> names;
    // Monotonic; when the conversation answers it itself. Of a runtime only: a device's task waits
    // for a worker as its job does.
    absl::Duration ends_at = absl::InfiniteDuration();
  };

  // Each of these does one thing and returns the end, if that was it.
  // One round: the times, the workers' answers, then one message of the child's or a wait.
  std::optional<ConversationEnd> Step(SearchChildProcess& child,
                                      const ConversationOptions& options);
  // Whether the daemon stops, the client has cancelled, the lease is lost or the time is over.
  std::optional<ConversationEnd> CheckTimes(SearchChildProcess& child,
                                            const ConversationOptions& options);
  // Errors: those of SearchChildProcess::Send.
  // Queues them for the child; what nobody asked for any more is dropped.
  absl::Status ForwardAnswers(SearchChildProcess& child);
  // One message of the child's. Its device and model are not asked for: every task gets the job's,
  // so that a child cannot have another tenant's model measured.
  std::optional<ConversationEnd> Take(SearchChildProcess& child, internal::ChildMessage message,
                                      const ConversationOptions& options);
  // Records the workers that were lost at a question of the child's, and from time to time how far
  // the job is: the child cannot say so while it is stopped or waits.
  void TellProgress(const ConversationOptions& options);
  // An event that cannot be stored is no reason to fail the job; the storage's next answer tells.
  void Record(const v1::Event& event);
  // Errors: InvalidArgument for what the child may not say, which counts as its fault.
  absl::Status TakeEvent(const v1::Event& event);
  // Errors: InvalidArgument for a repeated number, for too many questions and for open ones that
  // together take more memory than one message may.
  absl::Status Ask(int64_t number, worker::v1::Task task, const v1::Device& device,
                   absl::Duration ends_at = absl::InfiniteDuration());
  // Errors: InvalidArgument as Ask, and for what is not the job's.
  absl::Status AskRuntime(internal::MeasureModelsRequest& request, absl::Duration task_time_max);
  // Answers the questions that no worker has answered in time.
  void EndLateQuestions();
  static internal::ParentMessage ReplyOf(Answer& answer);
  // What the task asks about, in its order.
  // Errors: InvalidArgument for a key that is not its kernel's.
  absl::StatusOr<std::vector<std::string>> NamesIn(const worker::v1::Task& task) const;
  // A worker reads every blob that its task names, also those of other tenants.
  // Errors: InvalidArgument for an input that the job does not name.
  absl::Status CheckInputs(const worker::v1::MeasureTask& task) const;
  // Of the job's device, measured now.
  v1::StoredProfile NewProfile(absl::string_view key) const;
  // Errors: InvalidArgument for one that none can be, which counts as the child's fault.
  absl::Status KeepLoadEffect(const v1::LoadEffect& effect);
  // How much of the time so far went to other jobs: the child was stopped for them, or its question
  // waited while its device measured for them.
  absl::Duration TimeOfOthers(const SearchChildProcess& child);
  // How long the child was stopped while no question was open: for the sake of other jobs. While
  // one is open it could not go on anyway.
  absl::Duration StoppedForOthers(const SearchChildProcess& child);
  // Stores what was measured. REQUIRES: the result is about the kernels that were asked about.
  // Times that CheckStoredProfile refuses are left out: the store serves all tenants' jobs.
  void KeepProfiles(const worker::v1::ProfileResult& result);

  const ConversationContext context_;
  const LeasedJob& job_;
  const v1::Device device_;
  JobWeights& weights_;
  JobModels& models_;
  const std::shared_ptr<Wakeup> wakeup_;
  const std::shared_ptr<Mailbox> mailbox_;
  // By the child's number. Used by Run's thread only, as is all below.
  std::map<int64_t, Question> open_;
  std::set<int64_t> used_numbers_;  // of all questions so far
  // Monotonic, all three.
  absl::Duration began_;
  absl::Duration next_heartbeat_;
  absl::Duration next_progress_ = absl::InfiniteDuration();  // until the child has said something
  JobProgress progress_;
  // Until the first of the questions that are open was asked; and what of all the child's stopped
  // time was over when the last answer came.
  absl::Duration stopped_before_question_ = absl::ZeroDuration();
  absl::Duration stopped_until_answer_ = absl::ZeroDuration();
  bool deadline_sent_ = false;
};

}  // namespace plait
