#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "optimizer/search/budget.h"
#include "optimizer/search/rebind_target.h"
#include "optimizer/search/verifier.h"

namespace plait {

// What a shape check asks and tells. What is referred to must outlive it.
struct ShapeCheckContext {
  const DeviceDescription& device;
  const KernelCatalog& catalog;
  const std::string& engine_version;  // as in SearchOptions
  Verifier& verifier;
  Budget& budget;
  MeasurementLog& log;  // gets every batch, and every answer of the budget, for a replay
  std::string& trace;
};

// Compares candidates with the original at other shapes of the model's inputs, by plans that are
// bound to them as who loads a file binds its plans. What runs there was verified nowhere else.
// Called from the search's own thread.
class ShapeCheck {
 public:
  // `originals` are the model as it came in, at each of the shapes. Those without a plan are passed
  // over.
  ShapeCheck(absl::Span<const Graph> originals, const ShapeCheckContext& context);

  // Seconds that checking one candidate is likely to take; 0 where there is no other shape.
  double SecondsToCheck() const;

  // False for a candidate whose outputs differ from the original's at one of the shapes. True also
  // where that cannot be said: the plan cannot be bound or run there, and is not where it is
  // loaded; the original itself does not run; or there is no time, when `seconds_reserved` are
  // kept for what comes after. `recipe` leads from the normal form to the candidate's graph.
  bool IsRight(const PlanCandidate& candidate, const RewriteRecipe& recipe,
               double seconds_reserved);

  // At how many shapes the last candidate's outputs were equal, and of how many there was no time.
  int shapes_equal() const { return shapes_equal_; }
  int shapes_left() const { return shapes_left_; }

 private:
  struct OtherShape {
    RebindTarget target;
    PlanCandidate baseline;
    std::string text;  // of the inputs: "x of [3,8]"
  };

  // Why nothing was compared; empty: it was, and `equivalence` says how.
  std::string Compare(OtherShape& shape, const PlanCandidate& candidate,
                      const RewriteRecipe& recipe, Equivalence* equivalence);
  // The candidate's measurement beside the original's.
  CandidateMeasurement Measure(const OtherShape& shape, ReboundPlan rebound);
  bool HasSeconds(double seconds, double seconds_reserved);

  const ShapeCheckContext context_;
  std::vector<OtherShape> shapes_;
  int shapes_equal_ = 0;
  int shapes_left_ = 0;
};

}  // namespace plait
