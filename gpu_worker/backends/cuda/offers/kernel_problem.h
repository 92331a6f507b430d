#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "gpu_worker/backends/cuda/problem/problem.h"
#include "optimizer/ir/graph.h"
#include "optimizer/kernels/format.h"
#include "optimizer/kernels/kernel.h"

namespace plait::cuda {

// Where an operand of a problem comes from: a tensor that is there at run time, or a constant,
// which is laid out once, when a plan is loaded. Neither: the problem lacks the operand.
struct OperandValue {
  TensorId tensor = kNoTensor;
  ConstantRef constant;
  // How its elements lie. Weights of a convolution in channels-last are KRSC, as images are NHWC.
  Format format = Format::kPlain;
  int64_t offset = 0;  // in elements, of the first one that is read

  bool present() const { return tensor != kNoTensor || constant != nullptr; }
};

// `plait::` in front of graphs and kernels: beside the driver's headers cuda has its own of these.

// A kernel of a plan as the cuda backend runs it: what is computed, and on what.
struct KernelProblem {
  Problem problem;
  Precision precision = Precision::kStrict;
  MemoryLayout layout = MemoryLayout::kNchw;
  // As in Operands (problem/candidate.h).
  std::vector<OperandValue> inputs;
  OperandValue weights;
  OperandValue second_weights;
  OperandValue bias;
  OperandValue second_bias;
  OperandValue residual;
  std::vector<TensorId> outputs;
};

// The only way from a plan into the cuda backend. What a catalog offers has a problem, but for
// views, which move nothing, and kernels of kHostFamily, which the device does not run; any other
// kernel, as a plan from a file may have, has none. Pure and thread-safe.
// nullopt: the backend has no such kernel.
std::optional<KernelProblem> ProblemOfKernel(const plait::Graph& graph,
                                             const plait::Kernel& kernel);

// The same of a reorder of a tensor, which has no nodes.
std::optional<KernelProblem> ProblemOfReorder(const TensorType& type, const plait::Kernel& reorder);

}  // namespace plait::cuda
