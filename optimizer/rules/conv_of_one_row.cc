#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "optimizer/rules/patterns/reasons.h"
#include "optimizer/rules/patterns/rewrite_builder.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

// A list of the attribute for two axes, the first of which has `otherwise` at its ends.
std::vector<int64_t> WithRow(const std::vector<int64_t>& values, int64_t otherwise) {
  std::vector<int64_t> both;
  for (const int64_t value : values) {
    both.push_back(otherwise);
    both.push_back(value);
  }
  return both;
}

Tensor Sizes(const Shape& shape) {
  const std::vector<int64_t> sizes(shape.begin(), shape.end());
  return Tensor::Of<int64_t>({static_cast<int64_t>(sizes.size())}, sizes);
}

// [n, c, length] as [n, c, 1, length].
Shape WithRow(const Shape& shape) { return {shape[0], shape[1], 1, shape[2]}; }

Rewrites MatchConvOfOneRow(const Rule& rule, const Graph& graph, NodeId node) {
  const Node& conv = graph.node(node);
  const TensorType& x = graph.input_type(node, 0);
  const TensorType& w = graph.input_type(node, 1);
  const TensorType& y = graph.output_type(node);
  if (!x.known() || !w.known() || !y.known() || x.rank() != 3 || !IsFloat(x.dtype)) return {};
  if (graph.constant(node, 1) == nullptr) {
    return rule.misses.Because(
        [&] { return absl::StrCat("the weights of ", NodeText(graph, node), " are no constant"); });
  }
  Attributes attributes = *conv.attributes;
  attributes.Set("kernel_shape", std::vector<int64_t>{1, w.shape[2]});
  attributes.Set("strides", WithRow(attributes.Ints("strides", {1}), 1));
  attributes.Set("dilations", WithRow(attributes.Ints("dilations", {1}), 1));
  attributes.Set("pads", WithRow(attributes.Ints("pads", {0, 0}), 0));
  RewriteBuilder builder(graph);
  const TensorId image = builder.Add(
      OpKind::kReshape, {}, {conv.inputs[0], builder.AddConstant(Sizes(WithRow(x.shape)))});
  std::vector<TensorId> inputs(conv.inputs.begin(), conv.inputs.end());
  inputs[0] = image;
  const Shape weights = WithRow(w.shape);
  inputs[1] = builder.Reshape(conv.inputs[1], weights);
  const TensorId result = builder.Add(OpKind::kConv, std::move(attributes), inputs);
  return builder.Replace(
      node, builder.Add(OpKind::kReshape, {}, {result, builder.AddConstant(Sizes(y.shape))}));
}

}  // namespace

const Rule kConvOfOneRow = {
    .name = "conv_of_one_row",
    .law = "Conv(x, w) of lines = Reshape(Conv(Reshape(x), w)) of images of one row",
    // Reshapes are views, and images have more kernels: those of depthwise windows above all.
    .root = OpKind::kConv,
    .match = MatchConvOfOneRow,
};

}  // namespace plait
