#include "server/jobs/job_spec.h"

#include <utility>

#include "absl/strings/str_cat.h"
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
  JobSpec spec{leased,         std::move(model),  std::move(measurement_log),
               kBudgetDefault, kBudgetDefaultMax, {}};
  if (options.budget_seconds() > 0) {
    spec.budget = spec.budget_max = absl::Seconds(options.budget_seconds());
  }
  return spec;
}

std::string DigestOfRecorded(const std::vector<v1::StoredProfile>& recorded) {
  if (recorded.empty()) return "";
  // Each behind its length, so that two lists are never one text.
  std::string text;
  for (const v1::StoredProfile& profile : recorded) {
    const std::string bytes = profile.SerializeAsString();
    absl::StrAppend(&text, bytes.size(), " ", bytes);
  }
  return DigestOf(text).sha256_hex;
}

}  // namespace plait
