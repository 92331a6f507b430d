#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gpu_worker/simulated_gpu/cudnn/engine.h"
#include "gpu_worker/simulated_gpu/cudnn/operation_graph.h"
#include "gpu_worker/simulated_gpu/library_memory.h"
#include "gpu_worker/simulated_gpu/stand_in.h"
#include "gpu_worker/simulated_gpu/tensor_memory.h"

namespace plait::simulated_gpu {

// The kernel of one plan: its operation graph in float64, whichever engine was chosen; only results
// are rounded to their types. Parameters are the tensors that are not virtual, in the graph's
// order, then the workspace. Those by value are a double's bits.
class GraphKernel : public StandIn {
 public:
  // Errors: kUnimplemented for a type that there is no stand-in for.
  static absl::StatusOr<std::shared_ptr<const GraphKernel>> Make(OperationGraph graph,
                                                                 const CudnnEngine& engine);

  // The tensors of the parameters.
  const std::vector<GraphTensor>& bound() const { return bound_; }
  int64_t workspace_bytes() const { return workspace_bytes_; }

  const std::string& name() const override { return name_; }
  LaunchShape shape() const override;
  int parameters() const override { return static_cast<int>(bound_.size()) + 1; }
  Touches TouchesOf(absl::Span<const uint64_t> arguments) const override;
  absl::Status Run(absl::Span<const uint64_t> arguments, DeviceMemory* memory) const override;

 private:
  GraphKernel(OperationGraph graph, const CudnnEngine& engine);

  TouchedParts PartsOf(absl::Span<const uint64_t> arguments) const;
  bool IsResult(size_t tensor) const;
  // Of the tensor at this place of the graph. REQUIRES: it is bound to memory.
  TensorPlace Place(size_t tensor, absl::Span<const uint64_t> arguments) const;

  const OperationGraph graph_;
  const int64_t workspace_bytes_;
  const bool rounds_to_tf32_;  // floats that it multiplies
  std::string name_;
  std::vector<GraphTensor> bound_;
  std::vector<size_t> parameter_of_;  // by a tensor's place in the graph; virtual ones have none
  std::vector<ElementType> types_;    // likewise
};

}  // namespace plait::simulated_gpu
