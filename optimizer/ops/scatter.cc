#include "optimizer/ops/shared/expansion.h"
#include "optimizer/ops/shared/scattering.h"

namespace plait {
namespace {

absl::StatusOr<std::vector<TensorId>> ExpandScatter(const Node& node, GraphBuilder* builder) {
  Expansion expansion(builder);
  return expansion.Outputs(
      {expansion.Add(OpKind::kScatterElements, {node.inputs.begin(), node.inputs.end()},
                     {{"axis", node.attributes->Int("axis", 0)}})});
}

}  // namespace

// What opsets 9 and 10 call ScatterElements, without a reduction.
const OpSpec kScatterSpec = {
    .kind = OpKind::kScatter,
    .since_opset = 9,
    .removed_opset = 11,
    .inputs = {3, 3},
    .infer = InferScatterElements,
    .work = WorkOfScatter,
    .evaluate = EvaluateScatterElements,
    .expand = ExpandScatter,
    .expands_at_import = AlwaysExpands,
};

}  // namespace plait
