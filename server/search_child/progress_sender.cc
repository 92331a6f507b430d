#include "server/search_child/progress_sender.h"

#include <algorithm>
#include <string>

namespace plait {
namespace {

// Import takes about this part of a job, and export too; it is for a progress bar only.
constexpr double kPreparationFraction = 0.02;

v1::Event EventOf(v1::EventType type) {
  v1::Event event;
  event.set_type(type);
  return event;
}

}  // namespace

void ProgressSender::OnImport() { SendPhase("import", 0, BudgetLeft()); }

void ProgressSender::OnPhase(absl::string_view phase, double fraction) {
  // The search is over, and the job is not.
  const bool is_over = phase == "done" && plan_ + 1 == plans_;
  SendPhase(is_over ? "export" : phase, OfJob(fraction), is_over ? 0 : BudgetLeft());
}

void ProgressSender::OnFraction(double fraction, double seconds_left) {
  v1::Event event = EventOf(v1::EVENT_TYPE_PROGRESS);
  event.set_fraction(OfJob(fraction));
  event.set_seconds_left(std::min(seconds_left, BudgetLeft()));
  Send(event);
}

void ProgressSender::OnPredicted(double speedup) { SendSpeedup(v1::EVENT_TYPE_INCUMBENT, speedup); }

void ProgressSender::OnMeasured(double speedup) { SendSpeedup(v1::EVENT_TYPE_MEASURED, speedup); }

double ProgressSender::OfJob(double fraction) const {
  return kPreparationFraction + (1 - 2 * kPreparationFraction) * (plan_ + fraction) / plans_;
}

double ProgressSender::BudgetLeft() const {
  return std::max(0.0, absl::ToDoubleSeconds(end_ - clock_.Monotonic()));
}

void ProgressSender::SendPhase(absl::string_view phase, double fraction, double seconds_left) {
  v1::Event event = EventOf(v1::EVENT_TYPE_PHASE);
  event.set_text(std::string(phase));
  event.set_fraction(fraction);
  event.set_seconds_left(seconds_left);
  Send(event);
}

void ProgressSender::SendSpeedup(v1::EventType type, double speedup) {
  if (plan_ > 0) return;
  v1::Event event = EventOf(type);
  event.set_speedup(speedup);
  Send(event);
}

void ProgressSender::Send(const v1::Event& event) {
  internal::ChildMessage message;
  *message.mutable_event() = event;
  // When the daemon is gone, the next question fails.
  connection_.Send(message).IgnoreError();
}

}  // namespace plait
