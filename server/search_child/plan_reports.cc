#include "server/search_child/plan_reports.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/statistics.h"
#include "proto/wire/error.h"

namespace plait {
namespace {

// Names may be any bytes.
void AddShape(absl::string_view name, const Shape& dims, v1::PlanShape* shape) {
  shape->set_input(wire::ValidUtf8(name, kNameBytesMax));
  for (const int64_t dim : dims) shape->add_dims(dim);
}

void AddPlan(const std::string& device, const PlanTarget& target, const SearchResult& found,
             v1::Report* report) {
  v1::PlanReport& plan = *report->add_plans();
  plan.set_device(device);
  plan.set_threads(target.threads);
  plan.set_predicted(target.predicted);
  for (const TensorId input : found.graph.inputs()) {
    AddShape(*found.graph.tensor(input).name, found.graph.type(input).shape, plan.add_shapes());
  }
  plan.set_predicted_us(found.predicted_us);
  if (target.predicted) return;
  plan.set_latency_us_median(Median(found.optimized_latency_us));
  plan.set_speedup(found.speedup.median);
  plan.set_speedup_low(found.speedup.low);
  plan.set_speedup_high(found.speedup.high);
}

// Of all plans of the file: who runs it at such a shape gets the nearest of them.
void SetShapes(const PlanReportFacts& facts, v1::Report* report) {
  int equal = facts.first.shapes_equal;
  int left = facts.first.shapes_left;
  for (const SearchedPlan& plan : facts.further) {
    equal += plan.found.shapes_equal;
    left += plan.found.shapes_left;
  }
  report->mutable_equivalence()->set_shapes_checked(equal);
  if (left == 0) return;
  report->add_warnings(absl::StrCat(
      "the budget left no time to compare outputs at ", left,
      " other shapes of the inputs, for which plans are bound when the file is run at them"));
}

}  // namespace

void SetKeptPlans(absl::Span<const KeptPlan* const> kept, v1::Report* report) {
  for (const KeptPlan* plan : kept) {
    v1::KeptPlanReport& line = *report->add_kept_plans();
    line.set_device_fingerprint(absl::CHexEscape(plan->device_fingerprint));
    line.set_threads(plan->header.threads);
    line.set_predicted(plan->header.predicted);
    for (const auto& [name, dims] : plan->inputs) AddShape(name, dims, line.add_shapes());
  }
}

void SetPlanReports(const PlanReportFacts& facts, v1::Report* report) {
  SetShapes(facts, report);
  if (facts.first.plan.steps.empty() && facts.first.islands.empty()) return;
  AddPlan(facts.device, facts.first_target, facts.first, report);
  for (const SearchedPlan& plan : facts.further) {
    AddPlan(facts.device, plan.target, plan.found, report);
  }
  if (!facts.default_plan.has_value()) return;
  report->mutable_default_plan()->set_latency_us_median(facts.default_plan->latency_us_median);
  report->mutable_default_plan()->set_ratio(facts.default_plan->ratio);
}

}  // namespace plait
