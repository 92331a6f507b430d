#pragma once

#include <cstdint>

#include "optimizer/cost/measurement_log.h"

namespace plait {

// What a step usually takes, and no more, in seconds: a batch of measurements, or a stretch of
// search.
inline constexpr double kStepSeconds = 1.5;

// When a search has to come to an end. The search has no clock: it asks once per step, and whoever
// implements this decides by time, by cost or by a log. That is what makes a search repeatable: the
// only trace of the clock is the number of the step that was refused, and it is in the log. The
// search calls from one thread.
class Budget {
 public:
  virtual ~Budget() = default;

  // Whether step `step` may still be taken; called with 0, 1, 2 and so on, until it says no. A step
  // is one batch of measurements or a stretch of search, about a second, so a no comes at most that
  // late. Once it has said no it is not asked again (see BudgetedProfiles).
  virtual bool Allows(int64_t step) = 0;

  // Steps end so many seconds earlier, of which kStepSeconds are for the last one: what is left
  // then belongs to the verification. Where steps turn out to be longer, so is what is kept for
  // one. May be called again; the last number counts. Nothing, for a budget without a clock.
  virtual void Reserve(double /*seconds*/) {}

  // Whether so many seconds are left, those that were reserved included. Whoever asks writes the
  // answer into the log. Always, for a budget without a clock.
  virtual bool HasSeconds(double /*seconds*/) { return true; }

  // Whether the device may be had for so many seconds at once. Asked before HasSeconds, and one
  // answer to both is written into the log: a replay is told by HasSeconds.
  virtual bool AllowsTask(double /*seconds*/) { return true; }
};

// Allows everything.
class UnlimitedBudget : public Budget {
 public:
  bool Allows(int64_t) override { return true; }
};

// Ends where the search ended that wrote the log.
class ReplayingBudget : public Budget {
 public:
  // `log` must outlive the budget.
  explicit ReplayingBudget(const MeasurementLog& log) : log_(log) {}
  bool Allows(int64_t step) override {
    return log_.exhausted_at_step() == MeasurementLog::kNeverExhausted ||
           step < log_.exhausted_at_step();
  }
  // No, beyond what the log holds: a search that asks more often than the one that wrote it is
  // another one, and finds that out when it verifies.
  bool HasSeconds(double) override {
    return next_answer_ < log_.time_answers().size() && log_.time_answers()[next_answer_++];
  }

 private:
  const MeasurementLog& log_;
  size_t next_answer_ = 0;
};

}  // namespace plait
