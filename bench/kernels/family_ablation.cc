// What each kernel family is worth in whole models: `family_ablation OPTIMIZED.onnx...` plans the
// graph of each file anew, with all kernels and without those of one family after the other, by
// profiles measured here and now, and times the plans in turn, as `plait bench` does. A line for
// each family that the plan with all kernels uses: its kernels, what profiles say that the plan
// takes without it, and the time measured without it over that with it, with its 95 % interval. The
// line `parts` is the same without parts of other values, so that every Concat copies.
//
// Kernels that lose accuracy have to be admitted at their layers; here those are that the file's
// own plan has. Families that something cannot do without are left out.
//
//   cmake --build build --target family_ablation && build/family_ablation build/opt/resnet50.onnx
#include <cstdio>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "client/loaded_model.h"
#include "gpu_worker/backends/catalogs.h"
#include "gpu_worker/backends/open_executor.h"
#include "gpu_worker/executor/measure_plans.h"
#include "optimizer/schedule/policy.h"
#include "optimizer/search/plan_graph.h"
#include "optimizer/search/speedup.h"

namespace plait {
namespace {

// What is left out of a plan: nothing, a family, or what no family is.
constexpr absl::string_view kNothing;
constexpr absl::string_view kParts = "parts";

// What stands for every operator that has no kernel, and what conversions and views are made of.
constexpr absl::string_view kNeeded[] = {"reference", "view", "reorder"};

// A catalog without one family, and of kernels that need admission with those alone that a plan
// has.
class PartialCatalog : public KernelCatalog {
 public:
  PartialCatalog(const KernelCatalog& all, const Plan& admitted, absl::string_view left_out)
      : all_(all), left_out_(left_out) {
    for (const Step& step : admitted.steps) {
      if (all.NeedsAdmission(step.kernel)) admitted_.insert(LayerOf(step.kernel));
    }
  }

  std::vector<Kernel> KernelsAt(const Graph& graph, NodeId node, bool fuse) const override {
    std::vector<Kernel> kernels = all_.KernelsAt(graph, node, fuse);
    std::erase_if(kernels, [&](const Kernel& kernel) {
      return kernel.family == left_out_ ||
             (all_.NeedsAdmission(kernel) && admitted_.count(LayerOf(kernel)) == 0);
    });
    return kernels;
  }
  Kernel Reorder(const TensorType& type, Format from, Format to) const override {
    return all_.Reorder(type, from, to);
  }
  bool ReadsParts(const Kernel& kernel) const override {
    return left_out_ != kParts && all_.ReadsParts(kernel);
  }
  bool WritesParts(const Kernel& kernel) const override {
    return left_out_ != kParts && all_.WritesParts(kernel);
  }
  double CopyInPlanRatio() const override { return all_.CopyInPlanRatio(); }
  absl::string_view Version(absl::string_view family) const override {
    return all_.Version(family);
  }

 private:
  static std::pair<NodeId, std::string> LayerOf(const Kernel& kernel) {
    return {kernel.nodes[0], kernel.family + " " + kernel.variant};
  }

  const KernelCatalog& all_;
  const absl::string_view left_out_;
  std::set<std::pair<NodeId, std::string>> admitted_;
};

class Ablation {
 public:
  Ablation(Executor& executor, const KernelCatalog& catalog)
      : executor_(executor), catalog_(catalog), profiles_(MakeProfiles(executor)) {}

  absl::Status AddModel(const std::string& path) {
    std::vector<std::string> warnings;
    PLAIT_ASSIGN_OR_RETURN(const LoadedModel model,
                           LoadModel(path, {.require_plan = true}, executor_, &warnings));
    PLAIT_ASSIGN_OR_RETURN(const PlannedGraph whole, PlanWithout(model, kNothing));
    std::map<std::string, int> families;
    for (const Step& step : whole.plan.steps) ++families[step.kernel.family];
    std::printf("%s, %d kernels, %.0f us by their profiles\n", path.c_str(),
                static_cast<int>(whole.plan.steps.size()), whole.predicted_us);
    families[std::string(kParts)] = 0;
    for (const absl::string_view needed : kNeeded) families.erase(std::string(needed));
    for (const auto& [family, kernels] : families) {
      PLAIT_RETURN_IF_ERROR(PrintWithout(model, whole, family, kernels));
    }
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<PlannedGraph> PlanWithout(const LoadedModel& model, absl::string_view left_out) {
    const PartialCatalog catalog(catalog_, model.plan, left_out);
    const DeviceDescription& description = executor_.device();
    const SearchDevice device{description, catalog, profiles_->cache,
                              ScheduleDeviceOf(description)};
    UnlimitedBudget forever;
    BudgetedProfiles profiles(profiles_->cache, forever, profiles_->log);
    PLAIT_ASSIGN_OR_RETURN(const SchedulePolicy* const policy, FindPolicy("plait"));
    PLAIT_ASSIGN_OR_RETURN(
        std::vector<PlannedGraph> plans,
        PlanFused(model.graph, device, {description.fingerprint, "bench", description.threads},
                  *policy, profiles));
    return std::move(plans.front());
  }

  absl::Status PrintWithout(const LoadedModel& model, const PlannedGraph& whole,
                            const std::string& family, int kernels) {
    const absl::StatusOr<PlannedGraph> without = PlanWithout(model, family);
    if (!without.ok()) {
      std::printf("  %-18s %4d  nothing else can do it: %s\n", family.c_str(), kernels,
                  std::string(without.status().message()).c_str());
      return absl::OkStatus();
    }
    const CandidatePlan plans[] = {{&model.graph, &whole.plan}, {&model.graph, &without->plan}};
    PLAIT_ASSIGN_OR_RETURN(
        const auto measured,
        MeasurePlans(executor_, plans, *model.weights,
                     {.loads = 8, .rounds = 5, .time_max = absl::Seconds(25), .random_inputs = 1}));
    for (const auto& measurement : measured) PLAIT_RETURN_IF_ERROR(measurement.status());
    // How much slower it is without: what it was is the plan that has to be beaten.
    const Speedup ratio = EstimateSpeedup(
        {measured[1]->latency_us, measured[0]->latency_us, measured[0]->load_rounds}, {});
    std::printf("  %-18s %4d  %9.0f us  %.3f [%.3f, %.3f]\n", family.c_str(), kernels,
                without->predicted_us, ratio.median, ratio.low, ratio.high);
    std::fflush(stdout);
    return absl::OkStatus();
  }

  Executor& executor_;
  const KernelCatalog& catalog_;
  std::unique_ptr<LocalProfiles> profiles_;
};

absl::Status Run(int argc, char** argv) {
  PLAIT_ASSIGN_OR_RETURN(const std::unique_ptr<Executor> executor,
                         OpenExecutor("cpu", {.pins_threads = true}));
  PLAIT_ASSIGN_OR_RETURN(const auto catalog, CatalogFor(executor->device()));
  Ablation ablation(*executor, *catalog);
  for (int i = 1; i < argc; ++i) PLAIT_RETURN_IF_ERROR(ablation.AddModel(argv[i]));
  return absl::OkStatus();
}

}  // namespace
}  // namespace plait

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: family_ablation OPTIMIZED.onnx...\n");
    return 2;
  }
  const absl::Status status = plait::Run(argc, argv);
  if (status.ok()) return 0;
  std::fprintf(stderr, "family_ablation: %s\n", std::string(status.message()).c_str());
  return 1;
}
