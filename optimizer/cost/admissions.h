#pragma once

#include "absl/container/flat_hash_map.h"
#include "optimizer/cost/layer_error.h"
#include "optimizer/ir/fingerprint.h"
#include "optimizer/ir/graph.h"
#include "optimizer/kernels/kernel.h"

namespace plait {

// What is known of a kernel at a layer; see KernelCatalog::NeedsAdmission.
enum class Admission { kUnknown, kAdmitted, kRefused };

// Which kernels have fp32 accuracy at which layers, as far as their errors were measured. A layer
// is a kernel's first node: its operator, attributes, types and constants by content. So what was
// measured in one graph holds in all graphs of a search, whatever names and numbers the layer has
// there, and for kernels that differ in width, formats and what is fused behind the layer.
// Thread rule: Of and Find from any thread, unless another thread changes something.
class Admissions {
 public:
  // Kernels at layers of which nothing is known count as refused from now on.
  void RefuseUnknown() { unknown_ = Admission::kRefused; }

  // Adds what was measured of the kernel at the layer of `graph` that it starts with. Of a layer
  // that stands at several places, and reads other values at each, the worst one counts.
  void Add(const Graph& graph, const Kernel& kernel, const LayerError& error);

  // REQUIRES, here and below: a kernel of `graph` that needs admission, so no reorder.
  Admission Of(const Graph& graph, const Kernel& kernel) const;

  // nullptr when nothing was measured. Valid until something is added.
  const LayerError* Find(const Graph& graph, const Kernel& kernel) const;

 private:
  Admission unknown_ = Admission::kUnknown;
  absl::flat_hash_map<Fingerprint, LayerError> errors_;  // by layer, family and variant
};

}  // namespace plait
