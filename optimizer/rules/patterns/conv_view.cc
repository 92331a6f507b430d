#include "optimizer/rules/patterns/conv_view.h"

namespace plait {

Attributes ConvView::ToAttributes() const {
  return Attributes{{"strides", strides},
                    {"dilations", dilations},
                    {"pads", pads},
                    {"group", group},
                    {"kernel_shape", std::vector<int64_t>{kernel_height, kernel_width}}};
}

std::optional<ConvView> ViewConv(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.op != OpKind::kConv || graph.output_type(id).dtype != DataType::kFloat32) {
    return std::nullopt;
  }
  if (graph.constant(id, 1) == nullptr || graph.input_type(id, 1).rank() != 4) return std::nullopt;
  const std::string auto_pad = node.attributes->String("auto_pad", "NOTSET");
  if (auto_pad != "NOTSET" && auto_pad != "VALID") return std::nullopt;
  ConvView view;
  view.x = node.inputs[0];
  view.w = node.inputs[1];
  view.b = InputOr(graph, id, 2);
  if (view.b != kNoTensor && graph.tensor(view.b).constant == nullptr) return std::nullopt;
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
  return conv.kernel_height == 1 && conv.kernel_width == 1 && conv.group == 1 &&
         conv.strides == std::vector<int64_t>{1, 1} &&
         conv.pads == std::vector<int64_t>{0, 0, 0, 0};
}

ConstantRef BiasOrZeros(RewriteBuilder* builder, const ConvView& conv) {
  if (conv.b != kNoTensor) return builder->ConstantOf(conv.b);
  const float zero = 0;
  return builder->Fold(OpKind::kExpand, {},
                       {Constant::OfTensor(Tensor::Of<float>({1}, absl::MakeConstSpan(&zero, 1))),
                        Constant::OfTensor(Tensor::Int64s({conv.output_channels}))});
}

ConstantRef AsChannelVector(RewriteBuilder* builder, ConstantRef constant, int64_t channels) {
  if (constant == nullptr) return nullptr;
  if (constant->type().elements() == channels) {
    return builder->FoldReshape(std::move(constant), {channels});
  }
  ConstantRef one = builder->FoldReshape(std::move(constant), {1});
  return builder->Fold(OpKind::kExpand, {},
                       {std::move(one), Constant::OfTensor(Tensor::Int64s({channels}))});
}

}  // namespace plait
