#include "gpu_worker/backends/cuda/problem/strict_kernels.h"

#include <variant>

namespace plait::cuda {
namespace {

bool CublasLtEndsIn(Activation activation) {
  return activation == Activation::kNone || activation == Activation::kRelu ||
         activation == Activation::kGeluTanh;
}

bool HasKernel(const ConvProblem& conv, MemoryLayout layout) {
  if (conv.is_depthwise() || !CudnnEndsIn(conv.activation)) return true;
  if (conv.prologue_relu) return false;
  const bool is_bare = !conv.residual && conv.activation == Activation::kNone;
  return conv.bias || is_bare || layout == MemoryLayout::kNhwc ||
         (conv.is_product() && CublasLtEndsIn(conv.activation));
}

}  // namespace

bool CudnnEndsIn(Activation activation) {
  return activation == Activation::kNone || activation == Activation::kRelu ||
         activation == Activation::kRelu6;
}

bool HasStrictKernel(const Problem& problem, MemoryLayout layout) {
  if (const auto* conv = std::get_if<ConvProblem>(&problem)) return HasKernel(*conv, layout);
  if (const auto* gemm = std::get_if<GemmProblem>(&problem)) {
    return CublasLtEndsIn(gemm->activation);
  }
  const auto* attention = std::get_if<AttentionProblem>(&problem);
  return attention == nullptr || attention->dim <= kAttentionDimMax;
}

}  // namespace plait::cuda
