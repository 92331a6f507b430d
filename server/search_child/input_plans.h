#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "optimizer/kernels/device.h"
#include "optimizer/search/kept_plans.h"
#include "plait/v1/optimization.pb.h"
#include "server/search_child/plan_targets.h"

namespace plait {

// Of the plans that a job's model came with those that its file may keep: none where the options
// say so. `bytes` is what the model was imported from. Pure and thread-safe.
// Errors: InvalidArgument (INVALID_REQUEST), naming the limit, where they and the job's own plans,
// those for `targets` on the device, are more than a file may hold.
absl::StatusOr<KeptPlans> InputPlans(const Model& model, absl::string_view bytes,
                                     const v1::OptimizeOptions& options,
                                     const DeviceDescription& device,
                                     absl::Span<const PlanTarget> targets);

}  // namespace plait
