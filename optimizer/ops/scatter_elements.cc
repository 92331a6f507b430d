#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/ops/shared/axes.h"
#include "optimizer/ops/shared/expansion.h"
#include "optimizer/ops/shared/indices.h"
#include "optimizer/ops/shared/scattering.h"

namespace plait {
namespace {

// Opsets before 11 call it Scatter, which has no reduction.
absl::StatusOr<std::vector<TensorId>> ExpandScatterElements(const Node& node,
                                                            GraphBuilder* builder) {
  PLAIT_ASSIGN_OR_RETURN(const Meeting meeting, MeetingOf(*node.attributes));
  if (meeting != Meeting::kReplace) return absl::UnimplementedError("a reduction needs opset 16");
  Expansion expansion(builder);
  const int rank = expansion.type(node.inputs[0]).rank();
  const int64_t axis = NormalAxis(node.attributes->Int("axis", 0), rank);
  return expansion.Outputs({expansion.Add(
      OpKind::kScatter, {node.inputs.begin(), node.inputs.end()}, {{"axis", axis}})});
}

}  // namespace

// y = x, but y[c with indices[c] in the place of the axis' coordinate] = updates[c], or the sum,
// product, maximum or minimum of both: one element at a time.
const OpSpec kScatterElementsSpec = {
    .kind = OpKind::kScatterElements,
    .since_opset = 11,
    .inputs = {3, 3},
    .infer = InferScatterElements,
    .work = WorkOfScatter,
    .evaluate = EvaluateScatterElements,
    .lower = LowerScatter,
    .expand = ExpandScatterElements,
};

}  // namespace plait
