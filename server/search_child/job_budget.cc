#include "server/search_child/job_budget.h"

#include <algorithm>
#include <cstdint>

#include "optimizer/ops/shared/op_spec.h"

namespace plait {
namespace {

// 4 s: 400 runs at 100 GFLOP/s, twice as many at the 180 GFLOP/s of two cores with AVX-512. To
// measure the original, what its kernels round and how they do in place takes a hundred, to decide
// about a candidate a hundred more, and three hundred where it takes three looks at a noisy
// machine. What is decided sooner does not use them.
constexpr double kSecondsPerGflop = 4;

}  // namespace

double JobBudgetSeconds(const internal::Start& start, const Graph& model) {
  const double seconds = start.options().budget_seconds();
  double gflop = 0;
  for (NodeId node = 0; node < model.node_count(); ++node) {
    gflop += static_cast<double>(WorkOf(model, node).flops) * 1e-9;
  }
  const double seconds_max = std::max(seconds, start.budget_seconds_max());
  return std::clamp(kSecondsPerGflop * gflop, seconds, seconds_max);
}

}  // namespace plait
