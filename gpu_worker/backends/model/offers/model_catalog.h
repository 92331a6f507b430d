#pragma once

#include "optimizer/kernels/kernel_catalog.h"

namespace plait {

// The kernels of a described GPU: at a node first those of that node alone, then the fused ones,
// each in every row of formats. All have width 1 and no variant, whatever the instruction set or
// the threads of the description. Thread-safe.
class ModelCatalog : public KernelCatalog {
 public:
  std::vector<Kernel> KernelsAt(const Graph& graph, NodeId node, bool fuse) const override;
  Kernel Reorder(const TensorType& type, Format from, Format to) const override;
  bool ReadsParts(const Kernel& kernel) const override;
  bool WritesParts(const Kernel& kernel) const override;
  // Values between kernels stay in the second cache.
  double CopyInPlanRatio() const override { return 1; }
  // Always "1": predictions are not kept.
  absl::string_view Version(absl::string_view family) const override;
};

}  // namespace plait
