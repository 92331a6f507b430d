#include "optimizer/rules/patterns/step_functions.h"

#include <vector>

#include "absl/container/flat_hash_set.h"

namespace plait {
namespace {

// Far more than what stands behind a constant in any model, and nothing to walk through.
constexpr size_t kNodesMax = 64;

enum class Behind {
  kSmooth,  // rounds, so that what stands behind it does not count
  kExact,   // whole numbers stay whole
  kStep,
};

Behind KindOf(const Graph& graph, NodeId node) {
  switch (graph.node(node).op) {
    case OpKind::kOpaque:
    case OpKind::kCeil:
    case OpKind::kDynamicQuantizeLinear:
    case OpKind::kEqual:
    case OpKind::kFloor:
    case OpKind::kGreater:
    case OpKind::kGreaterOrEqual:
    case OpKind::kLess:
    case OpKind::kLessOrEqual:
    case OpKind::kMod:
    case OpKind::kQuantizeLinear:
    case OpKind::kRound:
    case OpKind::kShrink:
    case OpKind::kSign:
      return Behind::kStep;
    case OpKind::kCast:
    case OpKind::kCastLike:
      return IsFloat(graph.output_type(node).dtype) ? Behind::kExact : Behind::kStep;
    case OpKind::kAbs:
    case OpKind::kAdd:
    case OpKind::kClip:
    case OpKind::kConcat:
    case OpKind::kDiv:
    case OpKind::kExpand:
    case OpKind::kFlatten:
    case OpKind::kGather:
    case OpKind::kGatherElements:
    case OpKind::kGatherND:
    case OpKind::kIdentity:
    case OpKind::kMax:
    case OpKind::kMin:
    case OpKind::kMul:
    case OpKind::kNeg:
    case OpKind::kPad:
    case OpKind::kReduceMax:
    case OpKind::kReduceMin:
    case OpKind::kRelu:
    case OpKind::kReshape:
    case OpKind::kSlice:
    case OpKind::kSplit:
    case OpKind::kSqueeze:
    case OpKind::kSub:
    case OpKind::kSum:
    case OpKind::kTile:
    case OpKind::kTranspose:
    case OpKind::kUnsqueeze:
    case OpKind::kWhere:
      return Behind::kExact;
    default:
      return Behind::kSmooth;
  }
}

}  // namespace

bool ReachesStep(const Graph& graph, TensorId tensor) {
  absl::flat_hash_set<NodeId> seen;
  std::vector<TensorId> open = {tensor};
  while (!open.empty()) {
    const TensorId next = open.back();
    open.pop_back();
    for (const NodeId user : graph.users(next)) {
      const Behind kind = KindOf(graph, user);
      if (kind == Behind::kStep) return true;
      if (kind == Behind::kSmooth || !seen.insert(user).second) continue;
      if (seen.size() > kNodesMax) return true;
      open.insert(open.end(), graph.node(user).outputs.begin(), graph.node(user).outputs.end());
    }
  }
  return false;
}

}  // namespace plait
