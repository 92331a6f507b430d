#pragma once

#include <optional>

#include "gpu_worker/backends/cpu/offers/constant_product.h"
#include "gpu_worker/backends/groups/epilogue.h"

namespace plait {

// The mean of each channel, two layers of products with what follows each, and, where the block
// ends so, the image times that gate. (J. Hu et al., Squeeze-and-Excitation Networks, CVPR 2018,
// section 3.)
struct SqueezeExcitePattern {
  // A convolution of one pixel, or a product of rows that are images, by a constant matrix.
  struct Layer {
    NodeId node = kNoNode;
    ConstantProduct shape;
    Epilogue after;  // reads no tensor but constants
  };

  NodeId pool = kNoNode;
  Layer squeeze;
  Layer excite;
  TensorId gate = kNoTensor;    // what the second layer gives, in whatever shape is read
  std::vector<NodeId> nodes;    // up to the gate, ascending; views are among them
  NodeId multiplied = kNoNode;  // reads the gate, which nobody else does, and the pool's input
};

// The pattern that begins at the node; nullopt: none does. Pure, as all here.
std::optional<SqueezeExcitePattern> SqueezeExciteAt(const Graph& graph, NodeId node);

// The nodes of the pattern with `multiplied`. REQUIRES: it is there.
std::vector<NodeId> WholeSqueezeExcite(const SqueezeExcitePattern& pattern);

// The pattern that the nodes of a kernel are, without `multiplied` where they end before it;
// nullopt when they are anything else.
std::optional<SqueezeExcitePattern> ParseSqueezeExcite(const Graph& graph,
                                                       absl::Span<const NodeId> nodes);

}  // namespace plait
