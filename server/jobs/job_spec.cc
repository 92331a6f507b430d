#include "server/jobs/job_spec.h"

#include <utility>

#include "base/status_macros.h"
#include "proto/wire/digest.h"

namespace plait {
namespace {

// 60 s: enough for a convolutional network of a few hundred operators when nobody says otherwise.
constexpr absl::Duration kBudgetDefault = absl::Seconds(60);
// 10 min: enough to verify a model that runs for five seconds.
constexpr absl::Duration kBudgetDefaultMax = absl::Minutes(10);

}  // namespace

absl::StatusOr<JobSpec> ReadJobSpec(const LeasedJob& leased) {
  const v1::OptimizeOptions& options = leased.job.options();
  PLAIT_ASSIGN_OR_RETURN(Digest model, wire::DigestFromProto(leased.job.model()));
  std::optional<Digest> measurement_log;
  if (options.has_measurement_log()) {
    PLAIT_ASSIGN_OR_RETURN(measurement_log, wire::DigestFromProto(options.measurement_log()));
  }
  JobSpec spec{leased, std::move(model), std::move(measurement_log), kBudgetDefault,
               kBudgetDefaultMax};
  if (options.budget_seconds() > 0) {
    spec.budget = spec.budget_max = absl::Seconds(options.budget_seconds());
  }
  return spec;
}

}  // namespace plait
