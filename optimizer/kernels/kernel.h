#pragma once

#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "optimizer/ir/graph.h"
#include "optimizer/kernels/format.h"

namespace plait {

// A convex set of nodes that a backend runs as one launch, with an implementation chosen. Nothing
// of it changes when a family's code does: a plan that names a kernel stays good, only the profiles
// of the old code go (see ProfileKey).
// A value without a reference to its graph: node ids mean those of the graph it was offered for.
// Convex means that no path leaves the set and comes back, so that it can run as a whole.
struct Kernel {
  std::string family;   // the backend's kernel family: its file and its line in families.def
  std::string variant;  // implementation and parameters, read by the family only; may be empty
  std::vector<NodeId> nodes;  // ascending (so topological)
  int width = 1;              // the share of the device that it takes: of a processor, threads

  // Formats of InputsOf(graph, nodes) and OutputsOf(graph, nodes), in their order.
  std::vector<Format> input_formats;
  std::vector<Format> output_formats;

  friend bool operator==(const Kernel&, const Kernel&) = default;
};

// The family, in any backend, whose output is its input's bytes under another shape or format
// (KeepsBytes in optimizer/kernels/strided_view.h); a plan lets it share them.
constexpr absl::string_view kViewFamily = "view";

// Tensors that the set reads and neither produces nor are constants: each once, in order of first
// use.
// Omitted inputs (kNoTensor) are none.
std::vector<TensorId> InputsOf(const Graph& graph, absl::Span<const NodeId> nodes);

// Tensors that the set produces and that others read or that are graph outputs, in node order.
std::vector<TensorId> OutputsOf(const Graph& graph, absl::Span<const NodeId> nodes);

// Whether the error of a kernel that starts with the node can be measured there
// (KernelCatalog::NeedsAdmission): a Conv, MatMul or Gemm whose second input is a constant.
bool HasMeasurableLayer(const Graph& graph, NodeId node);

// The constants that may decide what a kernel does, and not only what it computes: those that are
// inline, and hold integers or booleans (axes, shapes, masks) or a single number (an epsilon, a
// bound). So do the scales and regions of a Resize in the kernel, which decide shapes.
// Others are parameters, such as biases: kernels that differ in them alone take the same time.
// A large integer constant is a setting too: an index list decides what memory is touched.
class KernelSettings {
 public:
  // Of the kernel that consists of `nodes`. `graph` must outlive it.
  KernelSettings(const Graph& graph, absl::Span<const NodeId> nodes);

  // REQUIRES: the tensor is a constant.
  bool Has(TensorId constant) const;

 private:
  const Graph& graph_;
  absl::flat_hash_set<TensorId> of_resizes_;  // what a Resize reads beside its image
};

// The kernel as a graph of its own: inputs are InputsOf, outputs are OutputsOf, constants that are
// no settings are replaced by synthetic ones of the same type, and names are canonical, so that
// equal kernels of different models give equal graphs and equal texts. Crashes when the nodes stand
// in an order that cannot run.
// REQUIRES: nodes ascending, of this graph.
Graph KernelGraph(const Graph& graph, absl::Span<const NodeId> nodes);

}  // namespace plait
