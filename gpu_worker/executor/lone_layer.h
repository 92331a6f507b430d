#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gpu_worker/executor/executor.h"
#include "gpu_worker/executor/layer_operands.h"

namespace plait {

// The first node of a kernel, a convolution or product with constant weights, by itself: as a graph
// that has the node's constants, with the kernel that runs it alone in the same family, variant,
// width and formats. Immutable.
class LoneLayer {
 public:
  // REQUIRES: the graph passed CheckTypes, and the kernel is a step's of a plan that passed
  // CheckPlan.
  // Errors: InvalidArgument when its first node is no Conv, MatMul or Gemm of float32 with a
  // constant second input; those of EvaluateConstant.
  static absl::StatusOr<LoneLayer> Create(const Graph& graph, const Kernel& kernel,
                                          const WeightSource& weights);

  // The same layer with other weights. REQUIRES: they are of the type of its own.
  absl::StatusOr<LoneLayer> WithWeights(Tensor weights) const;

  const Graph& graph() const { return graph_; }
  const LayerOperands& operands() const { return *operands_; }
  const Tensor& weights() const { return constants_[1]; }

  // Errors: those of Executor::LoadKernel.
  absl::StatusOr<std::unique_ptr<Executable>> Load(Executor& executor,
                                                   const WeightSource& weights) const;

  // The inputs of the node, its constants included, when the graph's are `inputs`; nullptr for an
  // omitted one. They live as long as both.
  std::vector<const Tensor*> Arguments(absl::Span<const Tensor> inputs) const;

 private:
  LoneLayer() = default;

  Graph graph_;
  Kernel kernel_;
  std::shared_ptr<const LayerOperands> operands_;
  std::vector<Tensor> constants_;  // by input of the node; without a value: no constant
};

// Whether LoneLayer::Create finds a layer there, without looking at weights.
// Errors: InvalidArgument.
absl::Status CheckIsLayer(const Graph& graph, const Kernel& kernel);

}  // namespace plait
