#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "optimizer/cost/measurement_log.h"
#include "optimizer/cost/profile_cache.h"

namespace plait {

// When a search has to come to an end. The search has no clock: it asks once per step, and whoever
// implements this decides by time, by cost or by a log. That is what makes a search repeatable: the
// only trace of the clock is the number of the step that was refused, and it is in the log. The
// search calls from one thread.
class Budget {
 public:
  virtual ~Budget() = default;

  // Whether step `step` may still be taken; called with 0, 1, 2 and so on, until it says no. A step
  // is one batch of measurements, so a no comes at most one batch late.
  virtual bool Allows(int64_t step) = 0;
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

 private:
  const MeasurementLog& log_;
};

// Brings profiles within a budget: each batch of measurements is one step. Not thread-safe.
class BudgetedProfiles {
 public:
  // What is passed must outlive this object. The step at which the budget ends is noted in `log`.
  BudgetedProfiles(ProfileCache& profiles, Budget& budget, MeasurementLog& log)
      : profiles_(profiles), budget_(budget), log_(log) {}

  // Resolves what the budget allows, batch by batch, sorted by key.
  // Errors: those of ProfileCache::Resolve.
  absl::Status Resolve(std::vector<ProfileQuery> queries);

  // Resolves everything, whatever the budget says: what no result can do without.
  absl::Status ResolveAll(const std::vector<ProfileQuery>& queries) {
    return profiles_.Resolve(queries);
  }

  bool exhausted() const { return exhausted_; }

 private:
  ProfileCache& profiles_;
  Budget& budget_;
  MeasurementLog& log_;
  int64_t step_ = 0;
  bool exhausted_ = false;
};

}  // namespace plait
