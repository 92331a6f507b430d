#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/digest.h"
#include "plait/v1/profile.pb.h"
#include "storage/job_store.h"

namespace plait {

// What a leased job asks for, read once at the door: the names of bytes as digests, and the
// defaults of the server filled in. Whoever works on the job takes both from here and never from
// the message again. A value; valid for as long as the leased job.
struct JobSpec {
  const LeasedJob& leased;
  // A blob that the tenant could read when the job was submitted; RunJob opens it by this digest.
  Digest model;
  std::optional<Digest> measurement_log;  // set: the job is replayed from it
  // Positive.
  absl::Duration budget;
  // What the search may make of it where nobody named one, and the model runs for long. The
  // deadline is this and JobRunnerOptions::grace.
  absl::Duration budget_max;
  // Of a device of which nothing is measured: what was imported stands in for predictions, so that
  // the result depends on it. Read when the job begins. Empty for any other device, and in a
  // replay.
  std::vector<v1::StoredProfile> recorded;
};

// Equal for equal times of equal kernels in equal order; "" where there are none.
std::string DigestOfRecorded(const std::vector<v1::StoredProfile>& recorded);

// Errors: InvalidArgument for a digest that is none, which only a damaged storage can hold.
// `leased` is borrowed by the spec. Options were checked when the job was submitted, so nothing is
// checked here but the form of digests.
absl::StatusOr<JobSpec> ReadJobSpec(const LeasedJob& leased);

}  // namespace plait
