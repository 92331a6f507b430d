#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "optimizer/cost/measurement_log.h"
#include "optimizer/cost/profile_cache.h"
#include "optimizer/search/budget.h"

namespace plait {

// Brings profiles within a budget: each batch of measurements is one step, and so is a stretch of
// search for which no profile was missing. Once the budget has said
// no it is not asked again, and the search goes on with the profiles that there are. Not
// thread-safe.
// One object serves all islands of a model: what one has used up the next ones do not have.
class BudgetedProfiles {
 public:
  // What is passed must outlive this object. The step at which the budget ends is noted in `log`.
  BudgetedProfiles(ProfileCache& profiles, Budget& budget, MeasurementLog& log)
      : profiles_(profiles), budget_(budget), log_(log) {}

  // Resolves what the budget allows, batch by batch, in the order in which keys are first asked
  // for: what matters most comes first. Queries beyond the budget stay unknown to ProfileCache.
  // Up to 16 kernels are one batch, and so one step; within it ProfileCache decides the order.
  // Errors: those of ProfileCache::Resolve.
  absl::Status Resolve(std::vector<ProfileQuery> queries);

  // The steps that resolving so many queries takes.
  static int64_t StepsOf(const std::vector<ProfileQuery>& queries);

  // Asks the budget for a step without a measurement; false when it has ended.
  bool TakeStep();

  // Resolves everything, whatever the budget says: what no result can do without. No step is taken.
  // Errors: as Resolve.
  absl::Status ResolveAll(const std::vector<ProfileQuery>& queries) {
    return profiles_.Resolve(queries);
  }

  // True from the first step on that was refused.
  // Never false again after that.
  bool exhausted() const { return exhausted_; }

 private:
  ProfileCache& profiles_;
  Budget& budget_;
  MeasurementLog& log_;
  int64_t step_ = 0;
  bool exhausted_ = false;
};

}  // namespace plait
