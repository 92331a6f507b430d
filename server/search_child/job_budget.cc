#include "server/search_child/job_budget.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "optimizer/ops/shared/op_spec.h"

namespace plait {
namespace {

// 4 s: 400 runs at 100 GFLOP/s, twice as many at the 180 GFLOP/s of two cores with AVX-512. To
// measure the original, what its kernels round and how they do in place takes a hundred, to decide
// about a candidate a hundred more, and three hundred where it takes three looks at a noisy
// machine. What is decided sooner does not use them.
constexpr double kSecondsPerGflop = 4;

double SecondsFor(const Graph& graph) {
  double gflop = 0;
  for (NodeId node = 0; node < graph.node_count(); ++node) {
    gflop += static_cast<double>(WorkOf(graph, node).flops) * 1e-9;
  }
  return std::max(kSecondsPerGflop * gflop, kPlanSecondsMin);
}

}  // namespace

std::vector<double> PlanSeconds(const Model& model, const Graph& first,
                                absl::Span<const PlanTarget> targets) {
  std::map<Bindings, double> of_shapes = {{targets.front().shapes, SecondsFor(first)}};
  std::vector<double> seconds;
  for (const PlanTarget& target : targets) {
    double& known = of_shapes[target.shapes];
    if (known == 0) {
      // What cannot be bound is refused when its turn comes.
      const absl::StatusOr<Bound> bound = Bind(model, target.shapes);
      known = bound.ok() ? SecondsFor(bound->graph) : kPlanSecondsMin;
    }
    seconds.push_back(target.predicted ? 0 : known);
  }
  return seconds;
}

double JobBudgetSeconds(const internal::Start& start, absl::Span<const double> plan_seconds) {
  const double seconds = start.options().budget_seconds();
  const double seconds_max = std::max(seconds, start.budget_seconds_max());
  const double further = std::accumulate(plan_seconds.begin() + 1, plan_seconds.end(), 0.0);
  return std::min(std::max(seconds, plan_seconds.front()) + further, seconds_max);
}

double BudgetShare(absl::Span<const double> plan_seconds, size_t number) {
  const absl::Span<const double> left = plan_seconds.subspan(number);
  return left.front() / std::accumulate(left.begin(), left.end(), 0.0);
}

absl::Duration TaskWaitMax(const internal::Start& start) {
  constexpr absl::Duration kUsual = absl::Seconds(10);
  const absl::Duration task_time_max = absl::Seconds(start.task_seconds_max());
  return task_time_max > absl::ZeroDuration() ? std::min(kUsual, task_time_max / 8) : kUsual;
}

absl::Duration JobWaitMax(double budget_seconds) { return absl::Seconds(budget_seconds / 3); }

}  // namespace plait
