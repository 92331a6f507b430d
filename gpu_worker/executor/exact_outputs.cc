#include "gpu_worker/executor/exact_outputs.h"

#include <utility>

#include "base/status_macros.h"
#include "optimizer/ops/evaluation/evaluate.h"
#include "optimizer/ops/shared/axes.h"
#include "optimizer/ops/shared/op_spec.h"

namespace plait {
namespace {

// 20 G: about ten seconds, as one thread evaluates some billion operations of a convolution in a
// second. A classifier of 1 GFLOP is within it on four inputs, one of 8 GFLOP on one or two.
constexpr int64_t kFlopsMax = int64_t{20} << 30;
// 64 M: constants and values are eight bytes each, though not all of them at the same time.
constexpr int64_t kElementsMax = int64_t{64} << 20;

}  // namespace

bool ExactOutputs::AreAffordable(size_t inputs) const {
  int64_t flops = 0;
  for (NodeId node = 0; node < graph_.node_count(); ++node) {
    if (graph_.node(node).op == OpKind::kOpaque) return false;
    flops = SaturatingAdd(flops, WorkOf(graph_, node).flops);
  }
  int64_t elements = 0;
  for (const TensorInfo& tensor : graph_.tensors()) {
    elements = SaturatingAdd(elements, tensor.type.elements());
  }
  return flops <= kFlopsMax / static_cast<int64_t>(inputs) && elements <= kElementsMax;
}

absl::StatusOr<const std::vector<EvalTensor>*> ExactOutputs::On(size_t index,
                                                                absl::Span<const Tensor> inputs) {
  const auto known = outputs_.find(index);
  if (known != outputs_.end()) return &known->second;
  std::vector<EvalTensor> exact_inputs;
  for (const Tensor& input : inputs) exact_inputs.push_back(ToEvalTensor(input));
  PLAIT_ASSIGN_OR_RETURN(std::vector<EvalTensor> exact,
                         EvaluateGraphUnrounded(graph_, exact_inputs, weights_));
  return &(outputs_[index] = std::move(exact));
}

}  // namespace plait
