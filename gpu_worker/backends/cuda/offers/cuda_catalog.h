#pragma once

#include "gpu_worker/backends/cuda/generated/kernel.h"
#include "optimizer/kernels/kernel_catalog.h"

namespace plait::cuda {

// The kernels of a GPU: at a node first those of that node alone, then the fused ones, each in
// every row of formats, in strict fp32 and in the 16 bits that are asked for (forms.h). But for
// products, what no kernel computes whole in strict fp32 (HasStrictKernel) is not offered there.
// What is offered has a problem (ProblemOfKernel), moves nothing, or, where no other kernel runs a
// node, is of kHostFamily. All have width 1. Thread-safe.
class CudaCatalog : public KernelCatalog {
 public:
  struct Options {
    // Products have a less exact form, for devices that can measure its errors.
    bool tf32 = false;
    // Products have a form that leaves room for others, for devices that can tell what candidates
    // take and how long.
    bool narrow = false;
    // Products whose errors can be measured have forms in 16 bits, and views move such values.
    bool fp16 = false;
    bool bf16 = false;
    // By which GeneratedName() tells what comes first.
    KernelDevice device = {};
  };
  explicit CudaCatalog(Options options) : options_(options) {}

  std::vector<plait::Kernel> KernelsAt(const plait::Graph& graph, NodeId node,
                                       bool fuse) const override;
  plait::Kernel Reorder(const TensorType& type, Format from, Format to) const override;
  bool NeedsAdmission(const plait::Kernel& kernel) const override;
  std::string OfferedVariant(const plait::Kernel& kernel) const override;
  std::optional<std::string> MoreExact(const plait::Kernel& kernel) const override;
  std::optional<std::string> LessExact(const plait::Kernel& kernel) const override;
  bool HasPrecision(absl::string_view precision) const override;
  bool LeavesRoom(const plait::Kernel& kernel, int threads) const override;
  bool ReadsParts(const plait::Kernel& kernel) const override;
  bool WritesParts(const plait::Kernel& kernel) const override;
  bool IsFallback(const plait::Kernel& kernel) const override;
  std::string GeneratedName(const plait::Graph& graph, const plait::Kernel& kernel) const override;
  // Values between kernels stay in the second cache.
  double CopyInPlanRatio() const override { return 1; }
  // Always "1": no profile is kept yet.
  absl::string_view Version(absl::string_view family) const override;

 private:
  const Options options_;
};

}  // namespace plait::cuda
