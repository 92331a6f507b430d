#pragma once

#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "optimizer/rules/laws/law_pattern.h"

namespace plait {

// What a Conv or an AveragePool says of its window, defaults written out.
struct LawWindow {
  Attributes attributes;
  std::vector<int64_t> kernel;  // rows, columns; of a Conv
  friend bool operator==(const LawWindow&, const LawWindow&) = default;
};

// A place in a graph where a law's source is.
struct LawBinding {
  // By tensor of the source: the graph's tensor, kNoTensor for constants of the law. A tensor that
  // is broadcast by its reader has the type that it is broadcast to.
  absl::InlinedVector<TensorId, 12> tensors;
  absl::InlinedVector<Shape, 12> shapes;
  absl::InlinedVector<NodeId, 4> nodes;  // by node of the source
  DataType dtype = DataType::kUndefined;

  // The function that Relu stands for, kOpaque where the law has none.
  OpKind function = OpKind::kOpaque;
  AttributesRef function_attributes = NoAttributes();
  absl::InlinedVector<TensorId, 2> function_inputs;  // behind the first one

  std::vector<LawWindow> conv_windows;  // one, where the law's windows are a variable
  std::vector<LawWindow> pool_windows;

  // Of the law's sizes that are variables: what they are here. Rows and columns of kernels that are
  // a variable are -2 and -3.
  absl::InlinedVector<std::pair<int64_t, int64_t>, 8> sizes;

  // kNoValue where the source does not have the size.
  static constexpr int64_t kNoValue = -1;
  int64_t SizeOf(int64_t size) const;
};

// All places where the law's source is, with its root at `root`; in an order that follows from the
// graph alone. What happens there is not yet looked at: values inside of the source may be read by
// others, and what it reads may depend on what it makes.
// Of matrices in higher dimensions the law holds for each: its axes are counted from the last one.
// Operands of sums and products of elements may be broadcast.
std::vector<LawBinding> BindLaw(const LawPattern& pattern, const Graph& graph, NodeId root);

// The window of a Conv or an AveragePool of which a law may speak; none with groups of channels, or
// more than two dimensions of an image.
std::vector<LawWindow> WindowOf(const Graph& graph, NodeId node);

}  // namespace plait
