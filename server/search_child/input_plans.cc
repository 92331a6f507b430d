#include "server/search_child/input_plans.h"

#include <algorithm>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "server/search_child/shape_variables.h"

namespace plait {
namespace {

// What the job's plans are for. A part of a model at shapes to which it cannot be bound has none:
// the job ends by that.
std::set<std::string> KeysOfTargets(const Model& model, const DeviceDescription& device,
                                    absl::Span<const PlanTarget> targets) {
  std::set<std::string> keys;
  Bindings shapes;
  std::vector<Graph> parts;
  for (const PlanTarget& target : targets) {
    // Targets of the same shapes follow each other.
    if (parts.empty() || target.shapes != shapes) {
      shapes = target.shapes;
      parts = PlannedParts(model, shapes).value_or(std::vector<Graph>());
    }
    for (const Graph& part : parts) {
      keys.insert(PlanKey(device.fingerprint, target.threads, part));
    }
  }
  return keys;
}

}  // namespace

absl::StatusOr<KeptPlans> InputPlans(const Model& model, absl::string_view bytes,
                                     const v1::OptimizeOptions& options,
                                     const DeviceDescription& device,
                                     absl::Span<const PlanTarget> targets) {
  if (options.drop_plans()) return KeptPlans();
  KeptPlans kept = ReadKeptPlans(model, static_cast<int64_t>(bytes.size()), targets.front().shapes);
  if (kept.plans.empty()) return kept;
  const std::set<std::string> keys = KeysOfTargets(model, device, targets);
  const auto is_replaced = [&](const KeptPlan& plan) { return keys.contains(PlanKey(plan.texts)); };
  kept.plans.erase(std::remove_if(kept.plans.begin(), kept.plans.end(), is_replaced),
                   kept.plans.end());
  if (kept.plans.size() + keys.size() > kPlansPerModelMax && !kept.plans.empty()) {
    return InvalidPlans(absl::StrCat(
        "a file may hold ", kPlansPerModelMax, " plans: the job makes ", keys.size(),
        ", and the model came with ", kept.plans.size(),
        " for other devices, threads or shapes (--drop-plans leaves those out; a smaller "
        "--shape-range or fewer --plan-for make fewer)"));
  }
  return kept;
}

}  // namespace plait
