#include "client/kernel_list/kernel_list.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "client/kernel_list/problem_json.h"
#include "client/kernel_list/rewritten_nodes.h"
#include "gpu_worker/backends/catalogs.h"
#include "gpu_worker/backends/cuda/offers/kernel_problem.h"
#include "gpu_worker/backends/cuda/problem/problem_shape.h"
#include "optimizer/ir/text.h"
#include "optimizer/kernels/kernel_key.h"
#include "optimizer/rules/rule.h"
#include "optimizer/search/optimize.h"
#include "optimizer/search/plan_graph.h"

namespace plait {
namespace {

// Row-major where the kernel exists in that too: layouts are the recorder's to choose.
std::string FormatsOf(const Kernel& kernel, const cuda::Problem& problem) {
  std::vector<absl::string_view> names;
  const bool any_layout = cuda::LayoutMatters(problem);
  for (const std::vector<Format>* formats : {&kernel.input_formats, &kernel.output_formats}) {
    for (const Format format : *formats) {
      names.push_back(FormatName(any_layout ? Format::kPlain : format));
    }
  }
  return absl::StrJoin(names, ",");
}

// Collects kernels, equal ones once.
class Collector {
 public:
  explicit Collector(const KernelCatalog& catalog) : catalog_(catalog) {}

  // `adds`: how often the model has them thereby.
  void Add(const Graph& graph, const Kernel& kernel, int adds, bool planned) {
    const std::optional<cuda::KernelProblem> problem = cuda::ProblemOfKernel(graph, kernel);
    // Recorders draw floats alone.
    if (!problem.has_value() || !cuda::IsOfFloats(problem->problem)) return;
    const std::string formats = FormatsOf(kernel, problem->problem);
    const std::string known = absl::StrCat(kernel.family, " ", formats, " ",
                                           StructureFingerprint(graph, kernel.nodes).ToString());
    const auto [found, is_new] = places_.try_emplace(known, kernels_.size());
    if (is_new) {
      kernels_.push_back({.family = kernel.family,
                          .graph = PrintGraph(KernelGraph(graph, kernel.nodes)),
                          .formats = formats,
                          .problem = ProblemJson(problem->problem)});
    }
    kernels_[found->second].count += adds;
    kernels_[found->second].planned |= planned;
  }

  // Kernels of the model: each once for each place, however many formats it has.
  void AddModel(const Graph& graph) {
    for (NodeId node = 0; node < graph.node_count(); ++node) {
      std::vector<NodeId> last;
      std::string last_family;
      for (const Kernel& kernel : catalog_.KernelsAt(graph, node, /*fuse=*/true)) {
        const bool is_same = kernel.nodes == last && kernel.family == last_family;
        Add(graph, kernel, is_same ? 0 : 1, false);
        last = kernel.nodes;
        last_family = kernel.family;
      }
    }
  }

  std::vector<ListedKernel> Take() && {
    const auto rank = [](const ListedKernel& kernel) {
      return kernel.planned ? 0 : kernel.count > 0 ? 1 : 2;
    };
    std::stable_sort(
        kernels_.begin(), kernels_.end(),
        [&](const ListedKernel& a, const ListedKernel& b) { return rank(a) < rank(b); });
    return std::move(kernels_);
  }

 private:
  const KernelCatalog& catalog_;
  std::vector<ListedKernel> kernels_;
  absl::flat_hash_map<std::string, size_t> places_;  // in kernels_
};

// The fused plans by predicted times.
absl::StatusOr<std::vector<PlannedGraph>> PlansOf(const Graph& graph, const DescribedDevice& device,
                                                  const KernelCatalog& catalog) {
  const DeviceDescription description = DescriptionOf(device);
  DescribedProfiler profiler(device, PredictionDetail::kBlocks, &catalog);
  MeasurementLog log;
  ProfileCache profiles(profiler, log);
  UnlimitedBudget budget;
  BudgetedProfiles budgeted(profiles, budget, log);
  const SearchDevice search = {description, catalog, profiles, ScheduleDeviceOf(description)};
  const PlanBinding binding = {description.fingerprint, "list", description.threads};
  return PlanFused(graph, search, binding, kPlaitPolicy, budgeted);
}

}  // namespace

absl::StatusOr<std::vector<ListedKernel>> ListKernels(const Graph& graph,
                                                      const DescribedDevice& device) {
  PLAIT_ASSIGN_OR_RETURN(const std::unique_ptr<KernelCatalog> catalog,
                         CatalogFor(DescriptionOf(device)));
  Collector collector(*catalog);
  collector.AddModel(graph);
  PLAIT_ASSIGN_OR_RETURN(const std::vector<PlannedGraph> plans, PlansOf(graph, device, *catalog));
  for (const PlannedGraph& planned : plans) {
    for (const Step& step : planned.plan.steps) {
      if (!step.kernel.nodes.empty()) collector.Add(graph, step.kernel, 0, true);
    }
  }
  PLAIT_RETURN_IF_ERROR(VisitRewritten(
      graph, AllRules(), [&](const Graph& rewritten, absl::Span<const NodeId> changed) {
        VisitChangedKernels(rewritten, changed, *catalog, [&](const Kernel& kernel) {
          collector.Add(rewritten, kernel, 0, false);
        });
      }));
  return std::move(collector).Take();
}

}  // namespace plait
