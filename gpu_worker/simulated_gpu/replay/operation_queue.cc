#include "gpu_worker/simulated_gpu/replay/operation_queue.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"

namespace plait::simulated_gpu {
namespace {

using State = Operation::State;

// Time means nothing here; it only goes on.
constexpr double kOperationUs = 1;

constexpr size_t kTraceMax = 1 << 16;  // so that a long life costs no more

}  // namespace

OperationRef OperationQueue::Enqueue(Operation operation) {
  const auto added = std::make_shared<Operation>(std::move(operation));
  added->slot = static_cast<int>(known_.size());
  added->before = host_;
  for (const OperationRef& other : added->after) {
    added->before.Join(other->before);
    if (other->slot >= 0) added->before.Add(other->slot);
  }
  added->before_late = added->before;
  for (const OperationRef& other : added->after_trigger) {
    added->before_late.Join(other->before);
    if (other->slot >= 0) added->before_late.Add(other->slot);
  }
  known_.push_back(added);
  pending_.push_back(added);
  return added;
}

bool OperationQueue::CanStep(const Operation& operation) const {
  const auto ended = [](const OperationRef& other) { return other->has_ended(); };
  if (operation.state == State::kBegun) return true;
  if (!std::all_of(operation.after.begin(), operation.after.end(), ended)) return false;
  const auto triggered = [&](const OperationRef& other) {
    if (ended(other)) return true;
    const bool begun = other->state == State::kBegun || other->state == State::kWaiting;
    return operation.state == State::kPending && begun && other->action->triggers();
  };
  return std::all_of(operation.after_trigger.begin(), operation.after_trigger.end(), triggered);
}

OperationRef OperationQueue::Pick() {
  std::vector<const OperationRef*> ready;
  for (const OperationRef& operation : pending_) {
    if (CanStep(*operation)) ready.push_back(&operation);
  }
  return ready.empty() ? nullptr : *ready[random_.Next() % ready.size()];
}

void OperationQueue::Step(Operation* operation) {
  if (operation->action == nullptr) {
    End(operation, State::kEnded);
    return;
  }
  if (std::all_of(operation->after_trigger.begin(), operation->after_trigger.end(),
                  [](const OperationRef& other) { return other->has_ended(); })) {
    operation->action->EndDependencies();
  }
  const absl::StatusOr<Action::Progress> progress = operation->action->Step();
  if (!progress.ok()) {
    if (status_.ok()) status_ = Annotate(progress.status(), operation->name);
    End(operation, State::kFailed);
  } else if (*progress == Action::Progress::kEnded) {
    End(operation, State::kEnded);
  } else {
    operation->state = *progress == Action::Progress::kWaits ? State::kWaiting : State::kBegun;
  }
}

void OperationQueue::End(Operation* operation, State state) {
  operation->state = state;
  operation->ended_us = clock_us_ += kOperationUs;
  if (operation->action != nullptr) {
    operation->touches = operation->action->touches();
    operation->early_touches = operation->action->early_touches();
    if (operation->action->has_waited()) HandOnWhatItWaitedFor(operation);
    operation->action.reset();
    if (trace_.size() == kTraceMax) trace_.clear();
    trace_.push_back(operation->name);
  }
  operation->after.clear();
  operation->after_trigger.clear();
  pending_.erase(std::find_if(pending_.begin(), pending_.end(),
                              [&](const OperationRef& other) { return other.get() == operation; }));
  CheckAgainstOthers(*operation);
}

void OperationQueue::HandOnWhatItWaitedFor(Operation* operation) {
  if (operation->after_trigger.empty()) return;
  operation->before.Join(operation->before_late);
  for (const OperationRef& other : known_) {
    if (other->before.Has(operation->slot)) other->before.Join(operation->before);
    if (other->before_late.Has(operation->slot)) other->before_late.Join(operation->before);
  }
}

void OperationQueue::CheckAgainstOthers(const Operation& operation) {
  for (const OperationRef& other : known_) {
    if (found_race_) return;
    const bool over = other->state == State::kEnded || other->state == State::kFailed;
    if (!over || other.get() == &operation) continue;
    const absl::Status status = CheckPair(operation, *other);
    if (status.ok()) continue;
    status_ = status;
    found_race_ = true;
  }
}

absl::Status OperationQueue::CheckPair(const Operation& a, const Operation& b) const {
  PLAIT_RETURN_IF_ERROR(CheckEarly(a, b));
  PLAIT_RETURN_IF_ERROR(CheckEarly(b, a));
  if (a.before_late.Has(b.slot) || b.before_late.Has(a.slot)) return absl::OkStatus();
  const std::optional<ByteRange> bytes = Conflict(a.touches, b.touches);
  if (!bytes.has_value()) return absl::OkStatus();
  // The one that was enqueued first is named first, whichever ran first.
  const Operation& first = a.slot < b.slot ? a : b;
  const Operation& second = a.slot < b.slot ? b : a;
  return absl::AbortedError(absl::StrCat("race: nothing orders ", first.name, " and ", second.name,
                                         ", which both touch ", Describe(*bytes)));
}

absl::Status OperationQueue::CheckEarly(const Operation& early, const Operation& other) const {
  const bool of_one_graph = early.graph_launch != 0 && early.graph_launch == other.graph_launch;
  if (!of_one_graph && early.before.Has(other.slot)) return absl::OkStatus();
  const std::optional<ByteRange> bytes = Conflict(early.early_touches, other.touches);
  if (!bytes.has_value()) return absl::OkStatus();
  return absl::AbortedError(absl::StrCat("race: before its griddepcontrol.wait ", early.name,
                                         " touches ", Describe(*bytes), ", as does ", other.name));
}

std::string OperationQueue::Describe(ByteRange range) const {
  uint64_t start = 0;
  const absl::string_view name = memory_->NameAt(range.begin, &start);
  if (name.empty()) return absl::StrFormat("0x%x to 0x%x of the host", range.begin, range.end - 1);
  return absl::StrFormat("bytes %d to %d of \"%s\"", range.begin - start, range.end - 1 - start,
                         name);
}

void OperationQueue::Diagnose() {
  while (!found_race_) {
    const OperationRef next = Pick();
    if (next == nullptr) return;
    Step(next.get());
  }
}

absl::Status OperationQueue::WaitFor(const OperationRef& operation) {
  while (status_.ok() && !operation->has_ended()) {
    const OperationRef next = Pick();
    if (next == nullptr) return absl::InternalError("simulated device: nothing can run");
    Step(next.get());
    if (!status_.ok()) Diagnose();
  }
  PLAIT_RETURN_IF_ERROR(status_);
  host_.Join(operation->before);
  if (operation->slot >= 0) host_.Add(operation->slot);
  if (pending_.empty()) Forget();
  return absl::OkStatus();
}

absl::Status OperationQueue::RunAll() {
  while (status_.ok() && !pending_.empty()) {
    const OperationRef next = Pick();
    if (next == nullptr) return absl::InternalError("simulated device: nothing can run");
    Step(next.get());
    if (!status_.ok()) Diagnose();
  }
  return status_;
}

absl::Status OperationQueue::WaitForAll() {
  PLAIT_RETURN_IF_ERROR(RunAll());
  for (const OperationRef& operation : known_) host_.Add(operation->slot);
  Forget();
  return absl::OkStatus();
}

// Those that stay get new slots, in the same order. REQUIRES: nothing is pending.
void OperationQueue::Forget() {
  std::vector<OperationRef> old = std::exchange(known_, {});
  std::vector<int> slots(old.size(), -1);
  for (const OperationRef& operation : old) {
    if (host_.Has(operation->slot)) continue;
    slots[operation->slot] = static_cast<int>(known_.size());
    known_.push_back(operation);
  }
  const auto renumbered = [&](const SlotSet& set) {
    SlotSet result;
    for (size_t i = 0; i < slots.size(); ++i) {
      if (slots[i] >= 0 && set.Has(static_cast<int>(i))) result.Add(slots[i]);
    }
    return result;
  };
  for (const OperationRef& operation : old) {
    // What the host knows of has nothing before it that the host does not know.
    const bool stays = slots[operation->slot] >= 0;
    operation->before = stays ? renumbered(operation->before) : SlotSet();
    operation->before_late = stays ? renumbered(operation->before_late) : SlotSet();
    operation->slot = slots[operation->slot];
  }
  host_ = {};
}

}  // namespace plait::simulated_gpu
