#pragma once

#include <string>

#include "absl/types/span.h"
#include "optimizer/plan/plan.h"

namespace plait {

// The plan with its steps' variants as a device loaded them (CandidateMeasurement::step_variants),
// so that it runs the kernels that were measured wherever it is loaded. An empty one leaves a step
// as it is, and another number of variants than of steps the whole plan. Pure.
Plan WithStepVariants(Plan plan, absl::Span<const std::string> variants);

}  // namespace plait
