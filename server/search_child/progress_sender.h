#pragma once

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "optimizer/search/progress_sink.h"
#include "plait/v1/event.pb.h"
#include "server/search_child/connection.h"

namespace plait {

// Tells the daemon how far the job is: the search, with import and export around it.
class ProgressSender : public ProgressSink {
 public:
  // `end` is when the budget ends, on the monotonic clock. Both others must outlive the sender.
  ProgressSender(ChildConnection& connection, Clock& clock, absl::Duration end)
      : connection_(connection), clock_(clock), end_(end) {}

  // The budget has become another one.
  void set_end(absl::Duration end) { end_ = end; }

  // Of several plans the first one's progress is told as the job's own, and only how far the others
  // are.
  void set_plan(int plan, int plans) {
    plan_ = plan;
    plans_ = plans;
  }

  void OnImport();
  void OnPhase(absl::string_view phase, double fraction) override;
  void OnFraction(double fraction, double seconds_left) override;
  void OnPredicted(double speedup) override;
  void OnMeasured(double speedup) override;

 private:
  double OfJob(double fraction) const;
  double BudgetLeft() const;
  void SendPhase(absl::string_view phase, double fraction, double seconds_left);
  void SendSpeedup(v1::EventType type, double speedup);
  void Send(const v1::Event& event);

  ChildConnection& connection_;
  Clock& clock_;
  absl::Duration end_;
  int plan_ = 0;  // that is searched for, of so many
  int plans_ = 1;
};

}  // namespace plait
