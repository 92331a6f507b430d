#pragma once

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "client/explained_plan.h"
#include "client/json.h"

namespace plait {

// Steps of two plans that do the same: they run nodes of the same names. A kernel of many nodes in
// one plan stands beside all that run any of them in the other. What has no counterpart, as
// conversions of formats have none, stands alone.
struct MatchedSteps {
  std::vector<ExplainedStep> before;
  std::vector<ExplainedStep> after;
  double before_us = 0;  // sums
  double after_us = 0;
};

// All steps of both, each once; that which gained or lost most first. Pure.
std::vector<MatchedSteps> MatchSteps(absl::Span<const ExplainedStep> before,
                                     absl::Span<const ExplainedStep> after);

// [{"nodes", "before": [kernel], "after": [kernel], "before_us", "after_us"}]; a kernel is "family
// variant".
Json DiffJson(absl::Span<const MatchedSteps> matches);

// The first `top` of them (0: all) whose kernels or times differ, a line each.
std::string DiffTable(absl::Span<const MatchedSteps> matches, size_t top);

}  // namespace plait
