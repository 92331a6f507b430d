#include "optimizer/rules/patterns/step_functions.h"

#include <vector>

#include "absl/container/flat_hash_set.h"

namespace plait {
namespace {

// Far more than what stands behind a constant in any model, and nothing to walk through.
constexpr size_t kNodesMax = 64;

enum class Behind {
  kSmooth,  // rounds, so that what stands behind it does not count, or reads no numbers
  kExact,   // whole numbers stay whole
  kStep,    // or nobody has said what it is
};

Behind KindOf(const Graph& graph, NodeId node) {
  switch (graph.node(node).op) {
    case OpKind::kCast:
    case OpKind::kCastLike:
      return IsFloat(graph.output_type(node).dtype) ? Behind::kExact : Behind::kStep;
    case OpKind::kGridSample:
      return graph.node(node).attributes->String("mode", "") == "nearest" ? Behind::kStep
                                                                          : Behind::kSmooth;
    case OpKind::kAbs:
    case OpKind::kAdd:
    case OpKind::kAveragePool:
    case OpKind::kCelu:
    case OpKind::kClip:
    case OpKind::kConcat:
    case OpKind::kCumProd:
    case OpKind::kCumSum:
    case OpKind::kDepthToSpace:
    case OpKind::kDequantizeLinear:
    case OpKind::kDiv:
    case OpKind::kDropout:
    case OpKind::kElu:
    case OpKind::kExpand:
    case OpKind::kFlatten:
    case OpKind::kGather:
    case OpKind::kGatherElements:
    case OpKind::kGatherND:
    case OpKind::kGlobalAveragePool:
    case OpKind::kGlobalMaxPool:
    case OpKind::kIdentity:
    case OpKind::kLeakyRelu:
    case OpKind::kMax:
    case OpKind::kMaxPool:
    case OpKind::kMean:
    case OpKind::kMin:
    case OpKind::kMul:
    case OpKind::kNeg:
    case OpKind::kPRelu:
    case OpKind::kPad:
    case OpKind::kPow:
    case OpKind::kReciprocal:
    case OpKind::kReduceL1:
    case OpKind::kReduceL2:
    case OpKind::kReduceMax:
    case OpKind::kReduceMean:
    case OpKind::kReduceMin:
    case OpKind::kReduceProd:
    case OpKind::kReduceSum:
    case OpKind::kReduceSumSquare:
    case OpKind::kRelu:
    case OpKind::kReshape:
    case OpKind::kResize:
    case OpKind::kReverseSequence:
    case OpKind::kScatter:
    case OpKind::kScatterElements:
    case OpKind::kScatterND:
    case OpKind::kSlice:
    case OpKind::kSpaceToDepth:
    case OpKind::kSplit:
    case OpKind::kSqrt:
    case OpKind::kSqueeze:
    case OpKind::kSub:
    case OpKind::kSum:
    case OpKind::kTile:
    case OpKind::kTranspose:
    case OpKind::kTrilu:
    case OpKind::kUnsqueeze:
    case OpKind::kUpsample:
    case OpKind::kWhere:
      return Behind::kExact;
    case OpKind::kAcos:
    case OpKind::kAcosh:
    case OpKind::kAsin:
    case OpKind::kAsinh:
    case OpKind::kAtan:
    case OpKind::kAtanh:
    case OpKind::kAttention:
    case OpKind::kBatchNormalization:
    case OpKind::kConv:
    case OpKind::kConvTranspose:
    case OpKind::kCos:
    case OpKind::kCosh:
    case OpKind::kEinsum:
    case OpKind::kErf:
    case OpKind::kExp:
    case OpKind::kEyeLike:
    case OpKind::kGRU:
    case OpKind::kGelu:
    case OpKind::kGemm:
    case OpKind::kGroupNormalization:
    case OpKind::kHardSigmoid:
    case OpKind::kHardSwish:
    case OpKind::kInstanceNormalization:
    case OpKind::kIsNaN:
    case OpKind::kLRN:
    case OpKind::kLSTM:
    case OpKind::kLayerNormalization:
    case OpKind::kLog:
    case OpKind::kLogSoftmax:
    case OpKind::kLpNormalization:
    case OpKind::kLpPool:
    case OpKind::kMatMul:
    case OpKind::kMeanVarianceNormalization:
    case OpKind::kMish:
    case OpKind::kRMSNormalization:
    case OpKind::kRNN:
    case OpKind::kReduceLogSum:
    case OpKind::kReduceLogSumExp:
    case OpKind::kRotaryEmbedding:
    case OpKind::kSelu:
    case OpKind::kShape:
    case OpKind::kSigmoid:
    case OpKind::kSin:
    case OpKind::kSinh:
    case OpKind::kSize:
    case OpKind::kSoftmax:
    case OpKind::kSoftplus:
    case OpKind::kSoftsign:
    case OpKind::kSwish:
    case OpKind::kTan:
    case OpKind::kTanh:
      return Behind::kSmooth;
    default:
      return Behind::kStep;
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
      for (const TensorId output : graph.node(user).outputs) {
        if (output != kNoTensor) open.push_back(output);
      }
    }
  }
  return false;
}

}  // namespace plait
