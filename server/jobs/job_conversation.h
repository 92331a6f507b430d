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
#include "server/jobs/search_child_process.h"
#include "server/jobs/wakeup.h"
#include "server/workers/worker_pool.h"
#include "storage/job_store.h"
#include "storage/profile_store.h"

namespace plait {

// How the conversation with a search child ended.
enum class ConversationOutcome {
  kResult,     // `result` is set
  kFailure,    // the child says that the job cannot be done: `status`
  kCancelled,  // the client wants it no more
  kDeadline,   // the time is over; `result` is set if the child had one
  kStopped,    // the daemon stops
  kLimit,      // the child met a limit: `status`
  kFault,      // the child died or lied: `status` is the evidence
  kLeaseLost,  // another run of the job counts now
};

// The outcome with what belongs to it.
struct ConversationEnd {
  ConversationOutcome outcome = ConversationOutcome::kFault;
  absl::Status status;                     // OK unless the outcome says that it is set
  std::optional<internal::Result> result;  // as the child sent it: nothing in it was checked
};

// How long a conversation may go on, and who may end it early.
struct ConversationOptions {
  absl::Duration time_max;  // of the whole conversation, before the child is told
  absl::Duration lease;     // how far each heartbeat extends the lease
  const std::atomic<bool>* stopping = nullptr;
};

// What a conversation works with; all of it must outlive it.
struct ConversationContext {
  JobStore& jobs;
  ProfileStore& profiles;
  WorkerPool& pool;
  Clock& clock;
};

// Talks with the search child of one job until it ends: passes its questions to the workers and
// their answers back, records its events, keeps the lease. Believes nothing: a message that does
// not fit is the child's fault. Not thread-safe.
class JobConversation {
 public:
  // `wakeup` ends a wait early; signalled when the job changed in the store or the daemon stops.
  JobConversation(const ConversationContext& context, const LeasedJob& job,
                  const v1::Device& device, std::shared_ptr<Wakeup> wakeup);
  // Withdraws the questions that are still open.
  ~JobConversation();

  // Sends `start` and talks until one of the outcomes; every one but a child's own end leaves the
  // child running, for its owner to kill. Called once. REQUIRES: what `options` points to outlives
  // the call.
  ConversationEnd Run(SearchChildProcess& child, const internal::Start& start,
                      const ConversationOptions& options);

 private:
  // What a worker said to a question of the child's.
  struct Answer {
    int64_t number = 0;       // that the child gave to its question
    bool is_profile = false;  // which of the two replies it wants
    worker::v1::TaskResult result;
  };
  // Where workers' answers arrive, on any thread. Shared with the callbacks, one of which may still
  // be running when the conversation is gone.
  struct Mailbox {
    explicit Mailbox(std::shared_ptr<Wakeup> wakeup_given) : wakeup(std::move(wakeup_given)) {}
    absl::Mutex mutex;
    std::vector<Answer> answers ABSL_GUARDED_BY(mutex);
    const std::shared_ptr<Wakeup> wakeup;
  };
  // One that is open: asked by the child and not answered yet.
  struct Question {
    int64_t interest = 0;           // the pool's number of it
    std::vector<std::string> keys;  // of the kernels that were asked about
  };

  // Each of these does one thing and returns the end, if that was it.
  std::optional<ConversationEnd> Step(SearchChildProcess& child,
                                      const ConversationOptions& options);
  std::optional<ConversationEnd> CheckTimes(SearchChildProcess& child,
                                            const ConversationOptions& options);
  // Errors: those of SearchChildProcess::Send.
  absl::Status ForwardAnswers(SearchChildProcess& child);
  std::optional<ConversationEnd> Take(internal::ChildMessage message);
  // Errors: InvalidArgument for what the child may not say, which counts as its fault.
  absl::Status TakeEvent(const v1::Event& event);
  absl::Status Ask(int64_t number, worker::v1::Task task);
  // Stores what was asked for, and stops at the first answer to something else.
  void KeepProfiles(const Question& question, const worker::v1::ProfileResult& result);

  const ConversationContext context_;
  const LeasedJob& job_;
  const v1::Device device_;
  const std::shared_ptr<Wakeup> wakeup_;
  const std::shared_ptr<Mailbox> mailbox_;
  std::map<int64_t, Question> open_;
  std::set<int64_t> used_numbers_;  // of all questions so far
  absl::Duration began_;
  absl::Duration next_heartbeat_;
  bool deadline_sent_ = false;
};

}  // namespace plait
