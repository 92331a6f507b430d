#pragma once

#include "absl/status/statusor.h"
#include "optimizer/cost/candidate_measurement.h"
#include "optimizer/cost/profile.h"
#include "plait/v1/profile.pb.h"
#include "plait/worker/v1/worker.pb.h"

// What workers measure, as it travels and as the optimizer reads it. All functions are pure and
// thread-safe.
namespace plait::wire {

// Every field as it is. A profile without samples, which says that a kernel cannot run, is not
// sent at all: a sender leaves the field unset and says why beside it.
v1::Profile ProfileToProto(const Profile& profile);

// The inverse.
// Errors: those of CheckProfile (proto/wire/profile.h), for a time that a search must not trust.
absl::StatusOr<Profile> ProfileFromProto(const v1::Profile& proto);

// The same for yardsticks, which a profile carries or which are asked for alone. Rates that a
// search must not divide by become 0, which says that they are unknown.
v1::Yardsticks YardsticksToProto(const Yardsticks& yardsticks);
Yardsticks YardsticksFromProto(const v1::Yardsticks& proto);

// The kernel that a key stands for, as a worker is asked to measure it.
worker::v1::KernelRequest KernelRequestToProto(const ProfileKey& key);

// The key of what a request asks for, on a device: made from the fields. A time that is stored
// under another one would mislead the searches of all.
ProfileKey KeyOf(const worker::v1::KernelRequest& request, absl::string_view device_fingerprint);

// The measurement as a worker answers with it. The contract has no verdict: whoever asked judges
// the errors by the tolerance that it sent along.
worker::v1::CandidateMeasurement CandidateMeasurementToProto(
    const CandidateMeasurement& measurement);

// The inverse, with the verdict that `tolerance` gives (JudgeErrors). Believes the numbers: whoever
// uses the samples checks them. But step_errors and step_us are empty unless all are finite and
// not negative: whoever asked for them counts them.
CandidateMeasurement CandidateMeasurementFromProto(const worker::v1::CandidateMeasurement& proto,
                                                   double tolerance);

}  // namespace plait::wire
