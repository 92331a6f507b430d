#include "optimizer/rules/patterns/step_functions.h"

#include <vector>

#include "absl/algorithm/container.h"
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

// Whole numbers stay whole.
constexpr OpKind kExact[] = {OpKind::kAbs,
                             OpKind::kAdd,
                             OpKind::kAveragePool,
                             OpKind::kCelu,
                             OpKind::kClip,
                             OpKind::kConcat,
                             OpKind::kCumProd,
                             OpKind::kCumSum,
                             OpKind::kDepthToSpace,
                             OpKind::kDequantizeLinear,
                             OpKind::kDiv,
                             OpKind::kDropout,
                             OpKind::kElu,
                             OpKind::kExpand,
                             OpKind::kFlatten,
                             OpKind::kGather,
                             OpKind::kGatherElements,
                             OpKind::kGatherND,
                             OpKind::kGlobalAveragePool,
                             OpKind::kGlobalMaxPool,
                             OpKind::kIdentity,
                             OpKind::kLeakyRelu,
                             OpKind::kMax,
                             OpKind::kMaxPool,
                             OpKind::kMean,
                             OpKind::kMin,
                             OpKind::kMul,
                             OpKind::kNeg,
                             OpKind::kPRelu,
                             OpKind::kPad,
                             OpKind::kPow,
                             OpKind::kReciprocal,
                             OpKind::kReduceL1,
                             OpKind::kReduceL2,
                             OpKind::kReduceMax,
                             OpKind::kReduceMean,
                             OpKind::kReduceMin,
                             OpKind::kReduceProd,
                             OpKind::kReduceSum,
                             OpKind::kReduceSumSquare,
                             OpKind::kRelu,
                             OpKind::kReshape,
                             OpKind::kResize,
                             OpKind::kReverseSequence,
                             OpKind::kScatter,
                             OpKind::kScatterElements,
                             OpKind::kScatterND,
                             OpKind::kSlice,
                             OpKind::kSpaceToDepth,
                             OpKind::kSplit,
                             OpKind::kSqrt,
                             OpKind::kSqueeze,
                             OpKind::kSub,
                             OpKind::kSum,
                             OpKind::kTile,
                             OpKind::kTranspose,
                             OpKind::kTrilu,
                             OpKind::kUnsqueeze,
                             OpKind::kUpsample,
                             OpKind::kWhere};

// Round, or read no numbers.
constexpr OpKind kSmooth[] = {OpKind::kAcos,
                              OpKind::kAcosh,
                              OpKind::kAsin,
                              OpKind::kAsinh,
                              OpKind::kAtan,
                              OpKind::kAtanh,
                              OpKind::kAttention,
                              OpKind::kBatchNormalization,
                              OpKind::kConv,
                              OpKind::kConvTranspose,
                              OpKind::kCos,
                              OpKind::kCosh,
                              OpKind::kEinsum,
                              OpKind::kErf,
                              OpKind::kExp,
                              OpKind::kEyeLike,
                              OpKind::kGRU,
                              OpKind::kGelu,
                              OpKind::kGemm,
                              OpKind::kGroupNormalization,
                              OpKind::kHardSigmoid,
                              OpKind::kHardSwish,
                              OpKind::kInstanceNormalization,
                              OpKind::kIsNaN,
                              OpKind::kLRN,
                              OpKind::kLSTM,
                              OpKind::kLayerNormalization,
                              OpKind::kLog,
                              OpKind::kLogSoftmax,
                              OpKind::kLpNormalization,
                              OpKind::kLpPool,
                              OpKind::kMatMul,
                              OpKind::kMeanVarianceNormalization,
                              OpKind::kMish,
                              OpKind::kRMSNormalization,
                              OpKind::kRNN,
                              OpKind::kReduceLogSum,
                              OpKind::kReduceLogSumExp,
                              OpKind::kRotaryEmbedding,
                              OpKind::kSelu,
                              OpKind::kShape,
                              OpKind::kSigmoid,
                              OpKind::kSin,
                              OpKind::kSinh,
                              OpKind::kSize,
                              OpKind::kSoftmax,
                              OpKind::kSoftplus,
                              OpKind::kSoftsign,
                              OpKind::kSwish,
                              OpKind::kTan,
                              OpKind::kTanh};

Behind KindOf(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.op == OpKind::kCast || node.op == OpKind::kCastLike) {
    return IsFloat(graph.output_type(id).dtype) ? Behind::kExact : Behind::kStep;
  }
  if (node.op == OpKind::kGridSample) {
    return node.attributes->String("mode", "") == "nearest" ? Behind::kStep : Behind::kSmooth;
  }
  if (absl::c_linear_search(kExact, node.op)) return Behind::kExact;
  return absl::c_linear_search(kSmooth, node.op) ? Behind::kSmooth : Behind::kStep;
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
