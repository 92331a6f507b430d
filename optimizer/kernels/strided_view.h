#pragma once

#include <optional>

#include "absl/types/span.h"
#include "optimizer/ir/graph.h"
#include "optimizer/kernels/format.h"

namespace plait {

// Where the elements of a tensor lie among those of another one that it was made of by nodes which
// compute nothing: the one at `index` is element offset + sum over axes of index * stride.
struct StridedView {
  int64_t offset = 0;
  Shape shape;
  Shape strides;
};

// A tensor as it lies in a format.
StridedView ViewOf(const TensorType& type, Format format);

// What node `id` gives as its output number `output` of an input that is seen so: for reshapes,
// Transpose, Split, and Gather of one index. nullopt: it computes, has to move something, or
// chooses by something that is no constant. Pure, as all here.
std::optional<StridedView> ViewThrough(const Graph& graph, NodeId id, size_t output,
                                       const StridedView& input);

// The other way round: where the input's elements lie, if the output's are to lie so. For reshapes
// and Transpose.
std::optional<StridedView> ViewBefore(const Graph& graph, NodeId id, const StridedView& output);

// Whether a chain of nodes that reshape and transpose one tensor only gives its bytes another name:
// the bytes of what the first node reads, in format `from`, are those of what the last one writes
// in format `to`. An image in channels-last is a matrix of pixels by channels, so that from tokens
// to images and back nothing has to move:
//   Transpose {perm=[0,2,3,1]}                               channels_last -> plain
//   Reshape to [N, C, H*W], Transpose {perm=[0,2,1]}         channels_last -> plain
// and the same the other way round. Axes of one element lie anywhere.
// False for any other nodes, for a chain that something else reads in between, and for a constant,
// whose bytes are not the plan's.
bool KeepsBytes(const Graph& graph, absl::Span<const NodeId> nodes, Format from, Format to);

// One tensor in two places: elements of `source` go where `target` has them. Both have one shape,
// without axes of one element.
struct StridedMove {
  StridedView source;
  StridedView target;
};

// What a chain of such nodes comes down to where the formats of its ends are given, in one pass.
// The channels of [1, 6, 4, 5] in channels-last are shuffled by Reshape to [1, 2, 3, 4, 5],
// Transpose and Reshape back: behind the Transpose that is [3, 2, 4, 5], read at 1, 3, 30, 6 and
// written at 2, 1, 30, 6. nullopt where more than one pass is needed, and as for KeepsBytes.
std::optional<StridedMove> MoveThrough(const Graph& graph, absl::Span<const NodeId> nodes,
                                       Format from, Format to);

}  // namespace plait
