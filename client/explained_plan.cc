#include "client/explained_plan.h"

#include <iterator>
#include <map>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "optimizer/kernels/format.h"
#include "optimizer/plan/step_work.h"

namespace plait {
namespace {

struct FamilySum {
  std::string family;
  int steps = 0;
  double us = 0;
  int64_t flops = 0;
  int64_t bytes = 0;
};

// What takes longest first; of equals by name.
std::vector<FamilySum> SumByFamily(absl::Span<const ExplainedStep> steps) {
  std::map<std::string, FamilySum> by_name;
  for (const ExplainedStep& step : steps) {
    FamilySum& sum = by_name[step.family];
    sum.family = step.family;
    ++sum.steps;
    sum.us += step.us;
    sum.flops += step.flops;
    sum.bytes += step.bytes;
  }
  std::vector<FamilySum> sums;
  for (auto& [name, sum] : by_name) sums.push_back(std::move(sum));
  absl::c_stable_sort(sums, [](const FamilySum& a, const FamilySum& b) { return a.us > b.us; });
  return sums;
}

// `amount` units per microsecond are as many millions per second: thousands of them are giga.
double GigaPerSecond(int64_t amount, double us) {
  return us > 0 ? static_cast<double>(amount) / us / 1000 : 0;
}

// "Conv Relu /features/0": the operators, and the name of the first node.
std::string WhatText(const ExplainedStep& step) {
  if (step.operators.empty()) return "(another format)";
  return absl::StrCat(absl::StrJoin(step.operators, " "), "  ", step.nodes.front());
}

}  // namespace

std::vector<ExplainedStep> ExplainSteps(const Plan& plan, const Graph& graph,
                                        absl::Span<const double> step_us) {
  std::vector<ExplainedStep> steps;
  for (size_t place = 0; place < plan.steps.size(); ++place) {
    const Step& step = plan.steps[place];
    ExplainedStep& explained = steps.emplace_back();
    explained.place = static_cast<int>(place);
    explained.stream = step.stream;
    explained.width = step.kernel.width;
    explained.family = step.kernel.family;
    explained.variant = step.kernel.variant;
    for (const NodeId id : step.kernel.nodes) {
      const Node& node = graph.node(id);
      explained.operators.emplace_back(OpKindName(node.op));
      explained.nodes.push_back(node.name == nullptr ? "" : *node.name);
    }
    if (!step.outputs.empty()) {
      const Value& value = plan.values[step.outputs.front()];
      explained.output = graph.type(value.tensor).ToString();
      explained.format = std::string(FormatName(value.format));
    }
    explained.flops = FlopsOf(step, graph);
    explained.bytes = OffchipBytes(step, plan, graph);
    explained.is_copy = IsCopy(step, plan, graph);
    explained.us = step_us[place];
  }
  return steps;
}

absl::StatusOr<std::vector<ExplainedStep>> ExplainModel(const LoadedModel& model,
                                                        Executor& executor,
                                                        const StepTimesOptions& timing) {
  const CandidatePlan candidate = {&model.graph, &model.plan};
  PLAIT_ASSIGN_OR_RETURN(const auto timed,
                         TimeSteps(executor, {&candidate, 1}, *model.weights, timing));
  PLAIT_RETURN_IF_ERROR(timed.front().status());
  return ExplainSteps(model.plan, model.graph, *timed.front());
}

double SumUs(absl::Span<const ExplainedStep> steps) {
  double us = 0;
  for (const ExplainedStep& step : steps) us += step.us;
  return us;
}

std::string KernelText(const ExplainedStep& step) {
  return step.variant.empty() ? step.family : absl::StrCat(step.family, " ", step.variant);
}

std::vector<ExplainedStep> StepsWithNode(absl::Span<const ExplainedStep> steps,
                                         absl::string_view name) {
  std::vector<ExplainedStep> found;
  absl::c_copy_if(steps, std::back_inserter(found), [&](const ExplainedStep& step) {
    return absl::c_linear_search(step.nodes, name);
  });
  return found;
}

Json StepsJson(absl::Span<const ExplainedStep> steps) {
  Json json = Json::array();
  for (const ExplainedStep& step : steps) {
    Json entry;
    entry["step"] = step.place;
    entry["stream"] = step.stream;
    entry["width"] = step.width;
    entry["family"] = step.family;
    entry["variant"] = step.variant;
    entry["operators"] = step.operators;
    entry["nodes"] = step.nodes;
    entry["output"] = step.output;
    entry["format"] = step.format;
    entry["flops"] = step.flops;
    entry["bytes"] = step.bytes;
    entry["copy"] = step.is_copy;
    entry["us"] = step.us;
    json.push_back(std::move(entry));
  }
  return json;
}

Json FamiliesJson(absl::Span<const ExplainedStep> steps) {
  Json json = Json::array();
  for (const FamilySum& sum : SumByFamily(steps)) {
    json.push_back({{"family", sum.family},
                    {"steps", sum.steps},
                    {"us", sum.us},
                    {"flops", sum.flops},
                    {"bytes", sum.bytes}});
  }
  return json;
}

std::string FamiliesTable(absl::Span<const ExplainedStep> steps) {
  const double all_us = SumUs(steps);
  std::string text = absl::StrFormat("%-24s %6s %12s %7s %9s %8s\n", "kernels, by family", "steps",
                                     "us", "share", "Gflop/s", "GB/s");
  for (const FamilySum& sum : SumByFamily(steps)) {
    absl::StrAppendFormat(&text, "%-24s %6d %12.1f %6.1f%% %9.1f %8.1f\n", sum.family, sum.steps,
                          sum.us, all_us > 0 ? 100 * sum.us / all_us : 0,
                          GigaPerSecond(sum.flops, sum.us), GigaPerSecond(sum.bytes, sum.us));
  }
  return text;
}

std::string StepsTable(absl::Span<const ExplainedStep> steps, size_t top) {
  const double all_us = SumUs(steps);
  std::vector<ExplainedStep> shown(steps.begin(), steps.end());
  if (top > 0) {
    absl::c_stable_sort(shown,
                        [](const ExplainedStep& a, const ExplainedStep& b) { return a.us > b.us; });
    if (shown.size() > top) shown.resize(top);
  }
  std::string text = absl::StrFormat("%4s %6s %5s %10s %7s %9s %8s  %-32s %-28s %s\n", "step",
                                     "stream", "width", "us", "share", "Gflop/s", "GB/s", "kernel",
                                     "output", "operators, first node");
  for (const ExplainedStep& step : shown) {
    absl::StrAppendFormat(&text, "%4d %6d %5d %10.1f %6.1f%% %9.1f %8.1f  %-32s %-28s %s\n",
                          step.place, step.stream, step.width, step.us,
                          all_us > 0 ? 100 * step.us / all_us : 0,
                          GigaPerSecond(step.flops, step.us), GigaPerSecond(step.bytes, step.us),
                          KernelText(step), step.output, WhatText(step));
  }
  return text;
}

}  // namespace plait
