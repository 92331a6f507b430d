#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gpu_worker/executor/executor.h"
#include "loading/choose_plan.h"
#include "optimizer/kernels/kernel_catalog.h"

namespace plait {

// The plans of a file for shapes that none of them is for: the plan of the nearest shapes is bound
// to these (optimizer/plan/rebind_plan.h), so that kernels and formats are those that were measured
// and nothing is padded. The graph is the model's own at these shapes: as it is, in normal form, or
// rewritten as the plan's was (optimizer/search/rewrite_recipe.h), whichever corresponds to the
// plan's graph. So a file can choose among right computations only, whatever it says.
//
// Graphs and plans of the file are parsed once, when the first shape is asked for. Not thread-safe.
class PlanRebinder {
 public:
  // Plans and executor must outlive it.
  PlanRebinder(const Model& model, absl::Span<const FilePlan> plans, Executor& executor);
  ~PlanRebinder();

  // The plan for just these shapes, by ChoosePlan, where there is one; else the first that can be
  // bound to them and loaded, of the best grade and the nearest shapes first, with the reason
  // kOtherShapes. An input that the model leaves open and nobody gives gets the shape that the plan
  // was made for. Never fails: where none can, the explanation says why the nearest one cannot.
  PlanChoice Choose(const Bindings& given);

  // The inputs' shapes of each plan that suits the device best, in the order of the file; once
  // where several are for the same.
  std::vector<Bindings> ShapesOfBest();

 private:
  struct Source;
  struct Target;

  // Parses what suits the device.
  void ReadSources();
  // Those for other shapes than `given`, the most promising first.
  std::vector<const Source*> SourcesFor(const Bindings& given) const;
  absl::StatusOr<LoadedPlan> Load(const Source& source, Target* target, int* substituted);
  // The model's graph at the target's shapes that corresponds to the source's, which the plan is
  // then bound to.
  absl::StatusOr<LoadedPlan> Rebind(const Source& source, Target* target);

  const Model model_;
  const absl::Span<const FilePlan> plans_;
  Executor& executor_;
  std::unique_ptr<KernelCatalog> catalog_;  // nullptr: nothing can be bound
  std::optional<std::vector<Source>> sources_;
};

// ChoosePlan, and where no plan is for the shapes the one that is bound to them. For who loads a
// model once. Never fails: as ChoosePlan.
PlanChoice ChooseOrBindPlan(const Model& model, absl::Span<const FilePlan> plans,
                            const Bindings& given, Executor& executor);

}  // namespace plait
