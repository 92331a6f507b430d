#include "server/jobs/job_spec.h"

#include <utility>

#include "base/status_macros.h"
#include "proto/wire/digest.h"

namespace plait {
namespace {

// 60 s: enough for a convolutional network of a few hundred operators when nobody says otherwise.
constexpr absl::Duration kBudgetDefault = absl::Seconds(60);

}  // namespace

absl::StatusOr<JobSpec> ReadJobSpec(const LeasedJob& leased) {
  const v1::OptimizeOptions& options = leased.job.options();
  PLAIT_ASSIGN_OR_RETURN(Digest model, wire::DigestFromProto(leased.job.model()));
  std::optional<Digest> measurement_log;
  if (options.has_measurement_log()) {
    PLAIT_ASSIGN_OR_RETURN(measurement_log, wire::DigestFromProto(options.measurement_log()));
  }
  const double seconds = options.budget_seconds();
  return JobSpec{leased, std::move(model), std::move(measurement_log),
                 seconds > 0 ? absl::Seconds(seconds) : kBudgetDefault};
}

}  // namespace plait
