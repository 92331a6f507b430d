#pragma once

#include "optimizer/kernels/kernel_catalog.h"

namespace plait::cuda {

// The kernels of a GPU: at a node first those of that node alone, then the fused ones, each in
// every row of formats, in strict fp32 (forms.h). What is offered has a problem (ProblemOfKernel),
// moves nothing, or, where no other kernel runs a node, is of kHostFamily. All have width 1.
// Values that are parts of others need strides, which the executor adds to a problem: problems say
// nothing of them. Thread-safe.
class CudaCatalog : public KernelCatalog {
 public:
  // `tf32`: products have a less exact form, for devices that can measure its errors.
  explicit CudaCatalog(bool tf32) : tf32_(tf32) {}

  std::vector<Kernel> KernelsAt(const Graph& graph, NodeId node, bool fuse) const override;
  Kernel Reorder(const TensorType& type, Format from, Format to) const override;
  bool NeedsAdmission(const Kernel& kernel) const override;
  std::optional<std::string> MoreExact(const Kernel& kernel) const override;
  std::optional<std::string> LessExact(const Kernel& kernel) const override;
  bool ReadsParts(const Kernel& kernel) const override;
  bool WritesParts(const Kernel& kernel) const override;
  // Values between kernels stay in the second cache.
  double CopyInPlanRatio() const override { return 1; }
  // Always "1": no profile is kept yet.
  absl::string_view Version(absl::string_view family) const override;

 private:
  const bool tf32_;
};

}  // namespace plait::cuda
