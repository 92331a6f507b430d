#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "optimizer/ir/graph.h"

namespace plait {

// Computes a node's output types: operator, attributes, input types (dtype kUndefined for an
// omitted input), values of inline constant inputs (nullptr elsewhere), number of outputs.
using InferFunction = std::function<absl::StatusOr<std::vector<TensorType>>(
    OpKind, const Attributes&, absl::Span<const TensorType>, absl::Span<const Tensor* const>, int)>;

// The text form of a graph: what golden tests compare, tasks carry, and people read.
//
//   graph {
//     input %x: float32[1,3,8,8]
//     const %w: float32[4,3,3,3] = weight <sha256>/432
//     const %axes: int64[1] = [2]
//     const %f: float32[4,3,3,3] = synthetic 7
//     const %folded: float32[4,3,3,3] = Mul(%w, %f) {}
//     %y: float32[1,4,8,8] = Conv(%x, %folded, _) {pads=[1,1,1,1], strides=[1,1]}
//     %a: float32[1,2,8,8], %b: float32[1,2,8,8] = Split(%y, _) {axis=1, num_outputs=2}
//     output %a, %b
//   }
//
// `_` is an omitted input or output. Names outside [A-Za-z0-9_.:/-] or with a colon at the end are
// quoted: %"a b". A node's own name stands behind it: @conv1. An expression over output i > 0 of
// its operator ends with `output i`. Values are written as value_text.h says: floats parse to the
// same bits, long constants are `raw "<base 64>"`, attribute floats carry a decimal point or
// exponent. A constant that only other constants use and that has no name in the graph is called
// %c0, %c1, ... Lines starting with # are comments. Print(Parse(Print(g))) == Print(g), and the
// parsed graph has g's fingerprint.
std::string PrintGraph(const Graph& graph);

// Reads the text form. When `infer` is given (ParseTypedGraph of optimizer/ops gives it), types of
// node outputs may be left out, and types that are given must be the inferred ones, so that a
// graph from elsewhere cannot lie to whoever runs it; what `infer` calls Unimplemented is taken as
// given. The text may come from another process: every size is checked. Errors: InvalidArgument
// naming the line.
absl::StatusOr<Graph> ParseGraph(absl::string_view text, const InferFunction& infer = nullptr);

}  // namespace plait
