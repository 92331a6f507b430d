#include "loading/substitute_variants.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "gpu_worker/executor/check_load.h"

namespace plait {
namespace {

// Kernels that the catalog offers for what the step does.
std::vector<Kernel> OffersFor(const Graph& graph, const KernelCatalog& catalog, const Plan& plan,
                              const Step& step) {
  if (!step.kernel.nodes.empty()) {
    return catalog.KernelsAt(graph, step.kernel.nodes.front(), /*fuse=*/true);
  }
  const Value& from = plan.values[step.inputs.front()];
  const Value& to = plan.values[step.outputs.front()];
  Kernel reorder = catalog.Reorder(graph.type(from.tensor), from.format, to.format);
  // Whatever width a reorder would get: any runs.
  reorder.width = step.kernel.width;
  return {std::move(reorder)};
}

bool IsSameButForVariant(const Kernel& offered, const Kernel& kernel) {
  return offered.family == kernel.family && offered.nodes == kernel.nodes &&
         offered.width == kernel.width && offered.input_formats == kernel.input_formats &&
         offered.output_formats == kernel.output_formats;
}

// Whether another variant was taken. Errors: InvalidArgument where there is none.
absl::StatusOr<bool> Substitute(const std::vector<Kernel>& offers, const KernelCatalog& catalog,
                                Kernel* kernel) {
  const Kernel* substitute = nullptr;
  for (const Kernel& offered : offers) {
    if (!IsSameButForVariant(offered, *kernel)) continue;
    // A less exact one is offered beside another one only where errors are measured.
    const bool is_known =
        offered.variant == kernel->variant || catalog.LessExact(offered) == kernel->variant;
    if (is_known) return false;
    if (substitute == nullptr) substitute = &offered;
  }
  if (substitute == nullptr || catalog.NeedsAdmission(*substitute)) {
    return absl::InvalidArgumentError(
        absl::StrCat("this version has no variant of kernel family \"", kernel->family,
                     "\" in the place of \"", kernel->variant, "\""));
  }
  kernel->variant = substitute->variant;
  return true;
}

}  // namespace

absl::StatusOr<int> SubstituteVariants(const Graph& graph, const KernelCatalog& catalog,
                                       Plan* plan) {
  PLAIT_RETURN_IF_ERROR(CheckTypes(graph));
  PLAIT_RETURN_IF_ERROR(CheckPlan(*plan, graph));
  int substituted = 0;
  for (size_t i = 0; i < plan->steps.size(); ++i) {
    Step& step = plan->steps[i];
    const std::vector<Kernel> offers = OffersFor(graph, catalog, *plan, step);
    std::string offered_variant = catalog.OfferedVariant(step.kernel);
    const bool was_chosen = offered_variant != step.kernel.variant;
    step.kernel.variant = std::move(offered_variant);
    const absl::StatusOr<bool> is_other = Substitute(offers, catalog, &step.kernel);
    if (!is_other.ok()) return Annotate(is_other.status(), absl::StrCat("step ", i));
    if (*is_other || was_chosen) ++substituted;
  }
  return substituted;
}

}  // namespace plait
