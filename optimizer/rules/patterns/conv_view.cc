#include "optimizer/rules/patterns/conv_view.h"

#include "absl/strings/str_cat.h"
#include "optimizer/rules/patterns/reasons.h"

namespace plait {

Attributes ConvView::ToAttributes() const {
  return Attributes{{"strides", strides},
                    {"dilations", dilations},
                    {"pads", pads},
                    {"group", group},
                    {"kernel_shape", std::vector<int64_t>{kernel_height, kernel_width}}};
}

std::optional<ConvView> ViewConv(const Graph& graph, NodeId id, Misses misses) {
  const Node& node = graph.node(id);
  if (node.op != OpKind::kConv) return std::nullopt;
  const auto miss = [&](absl::string_view what) {
    return misses.Because([&] { return absl::StrCat(NodeText(graph, id), what); });
  };
  if (graph.output_type(id).dtype != DataType::kFloat32) return miss(" is not in float32");
  if (graph.constant(id, 1) == nullptr) return miss(" has weights that are not constant");
  if (graph.input_type(id, 1).rank() != 4) return miss(" is not over height and width");
  // Import writes SAME as pads; VALID says that there are none.
  const std::string auto_pad = node.attributes->String("auto_pad", "NOTSET");
  if (auto_pad != "NOTSET" && auto_pad != "VALID") return miss(" pads as its input asks");
  ConvView view;
  view.x = node.inputs[0];
  view.w = node.inputs[1];
  view.b = InputOr(graph, id, 2);
  if (view.b != kNoTensor && graph.tensor(view.b).constant == nullptr) {
    return miss(" has a bias that is not constant");
  }
  view.strides = node.attributes->Ints("strides", {1, 1});
  view.dilations = node.attributes->Ints("dilations", {1, 1});
  view.pads = node.attributes->Ints("pads", {0, 0, 0, 0});
  view.group = node.attributes->Int("group", 1);
  const Shape& weight = graph.type(view.w).shape;
  view.output_channels = weight[0];
  view.kernel_height = weight[2];
  view.kernel_width = weight[3];
  return view;
}

bool SameSteps(const ConvView& a, const ConvView& b) {
  return a.x == b.x && a.strides == b.strides && a.dilations == b.dilations && a.group == b.group;
}

bool IsPointwise(const ConvView& conv) {
  // A dilation says nothing about a single tap, so it may be any.
  return conv.kernel_height == 1 && conv.kernel_width == 1 && conv.group == 1 &&
         conv.strides == std::vector<int64_t>{1, 1} &&
         conv.pads == std::vector<int64_t>{0, 0, 0, 0};
}

std::optional<ConvThenConstant> ConvThenPerChannel(const Graph& graph, NodeId node, Misses misses) {
  const auto side = OneConstantInput(graph, node);
  if (!side) return NoConstantBeside(graph, node, OpKind::kConv, misses);
  const NodeId conv_node = SoleProducerOf(graph, node, side->other, OpKind::kConv, misses);
  if (conv_node == kNoNode) return std::nullopt;
  const auto conv = ViewConv(graph, conv_node, misses);
  if (!conv) return std::nullopt;
  const TensorId constant = graph.node(node).inputs[side->constant];
  if (!IsPerChannel(graph.type(constant), 4, 1, conv->output_channels)) {
    return NotPerChannel(graph, constant, conv->output_channels, misses);
  }
  return ConvThenConstant{*conv, constant};
}

TensorId BiasOrZeros(RewriteBuilder* builder, const ConvView& conv) {
  if (conv.b != kNoTensor) return conv.b;
  const TensorId zero = builder->AddConstant(Tensor::Of<float>({1}, {0.0f}));
  return builder->Repeat(zero, conv.output_channels);
}

TensorId AsChannelVector(RewriteBuilder* builder, TensorId constant, int64_t channels) {
  // The dimensions of 1 around the channels go.
  if (builder->type(constant).elements() == channels) {
    return builder->Reshape(constant, {channels});
  }
  return builder->Repeat(builder->Reshape(constant, {1}), channels);
}

}  // namespace plait
