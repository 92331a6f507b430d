#pragma once

#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "optimizer/ir/graph.h"
#include "optimizer/kernels/strided_view.h"

namespace plait {

// Attention, softmax(scale * Q * K^T + mask) * V of every head, as an Attention node or as the
// nodes that exporters write for it, with the reshapes and transposes in front of its inputs and
// behind its result: heads are read where they lie in the products' rows, and written to where the
// next product reads them.
struct AttentionPattern {
  // A tensor that the nodes read or write, row-major, and its matrices: [heads.., rows, columns].
  struct Matrices {
    TensorId tensor = kNoTensor;
    StridedView view;
  };
  // All heads.. are alike.
  Matrices query;   // [.., queries, size]
  Matrices key;     // [.., keys, size]
  Matrices value;   // [.., keys, value size]
  Matrices result;  // [.., queries, value size]
  // What is added to the scores, [.., queries, keys] each; a stride of 0 repeats.
  std::vector<Matrices> masks;
  float scale = 1;
  // Of a query that may attend to no key: zeros, and not NaN, as Attention says.
  bool hides_masked_rows = false;
};

// Reads the nodes of a kernel of family "attention"; nullopt when they are anything else. Pure, as
// all here.
std::optional<AttentionPattern> ParseAttention(const Graph& graph, absl::Span<const NodeId> nodes);

// The most nodes around an attention that ParseAttention reads and whose first is `node`; empty
// where there is none.
std::vector<NodeId> GrowAttention(const Graph& graph, NodeId node);

}  // namespace plait
