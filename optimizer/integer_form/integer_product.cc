#include "optimizer/integer_form/integer_product.h"

#include <algorithm>
#include <limits>

#include "optimizer/ops/shared/quantization.h"
#include "optimizer/rules/patterns/graph_queries.h"

namespace plait {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The bounds of a Relu or Clip; nullopt when they are not known or not in order.
std::optional<std::pair<double, double>> BoundsOf(const Graph& graph, NodeId node) {
  if (graph.node(node).op == OpKind::kRelu) return std::pair(0.0, kInfinity);
  std::optional<double> low = -kInfinity;
  std::optional<double> high = kInfinity;
  if (InputOr(graph, node, 1) != kNoTensor) low = ScalarAt(graph, node, 1);
  if (InputOr(graph, node, 2) != kNoTensor) high = ScalarAt(graph, node, 2);
  if (!low || !high || !(*low <= *high)) return std::nullopt;
  return std::pair(*low, *high);
}

// Whether all that the node cuts off becomes the first or last integer anyway.
// REQUIRES: BoundsOf knows the bounds.
bool IsImplied(const Graph& graph, NodeId node, double scale, int64_t zero_point,
               const IntegerRange& range) {
  const auto bounds = BoundsOf(graph, node);
  const auto quantized = [&](double x) {
    return Quantized(static_cast<float>(x) / static_cast<float>(scale), zero_point, range);
  };
  return quantized(bounds->first) == range.lowest && quantized(bounds->second) == range.highest;
}

// Whether the bias is dequantized from int32 in units of the sums, as far as the scales are inline.
// Longer ones are weights, whose values are not at hand when a model is bound.
bool IsInUnits(const Dequantized& bias, const Dequantized& x, const Dequantized& w) {
  if (bias.type.dtype != DataType::kInt32) return false;
  const auto scales = ScalesOf(bias.scale);
  const auto of_x = ScalesOf(x.scale);
  const auto of_w = ScalesOf(w.scale);
  if (!scales || !of_x || !of_w) return true;
  const size_t count = std::max(scales->size(), of_w->size());
  for (size_t i = 0; i < count; ++i) {
    const double unit = (*of_x)[0] * (*of_w)[of_w->size() == 1 ? 0 : i];
    if (!NearlyEqual((*scales)[scales->size() == 1 ? 0 : i], unit)) return false;
  }
  return true;
}

// Whether a bias in floats may be rounded to units of the sums: they must be no more than an
// integer of the result, and no less than 2^-20 of it, with which int32 reaches far beyond all
// integers of the result.
bool MayBeRounded(const QuantizedProduct& product, const Dequantized& x, const Dequantized& w) {
  const auto of_x = ScalesOf(x.scale);
  const auto of_w = ScalesOf(w.scale);
  if (!of_x || !of_w) return false;
  return std::all_of(of_w->begin(), of_w->end(), [&](double scale) {
    const double unit = (*of_x)[0] * scale / product.scale;
    return unit <= 1 && unit >= 0x1p-20;
  });
}

}  // namespace

std::optional<QuantizedProduct> ProductBefore(const Graph& graph, NodeId quantize, OpKind op) {
  const auto scale = ScalarAt(graph, quantize, 1);
  const DataType dtype = graph.output_type(quantize).dtype;
  const auto range = QuantizedRange(dtype);
  if (!scale || !(*scale > 0 && *scale < kInfinity) || !range) return std::nullopt;
  if (graph.input_type(quantize, 1).dtype != DataType::kFloat32) return std::nullopt;
  std::optional<double> zero_point = 0;
  if (InputOr(graph, quantize, 2) != kNoTensor) zero_point = ScalarAt(graph, quantize, 2);
  if (!zero_point) return std::nullopt;
  NodeId bound = SoleProducerOf(graph, quantize, 0, OpKind::kRelu);
  if (bound == kNoNode) bound = SoleProducerOf(graph, quantize, 0, OpKind::kClip);
  const NodeId product = SoleProducerOf(graph, bound == kNoNode ? quantize : bound, 0, op);
  if (product == kNoNode) return std::nullopt;
  if (bound != kNoNode) {
    const auto zero = static_cast<int64_t>(*zero_point);
    if (!BoundsOf(graph, bound)) return std::nullopt;
    if (IsImplied(graph, bound, *scale, zero, *range)) bound = kNoNode;
  }
  return QuantizedProduct{product, bound, quantize, *scale, dtype};
}

bool RunsInOnnxRuntime(const QuantizedProduct& product, const Dequantized& x,
                       const Dequantized& w) {
  const DataType dtype = x.type.dtype;
  return product.dtype == dtype && (w.type.dtype == dtype || w.type.dtype == DataType::kInt8);
}

Rewrites ReplaceQuantized(const Graph& graph, const QuantizedProduct& product, TensorId y,
                          RewriteBuilder* builder) {
  if (product.bound != kNoNode) {
    const TensorId scale = ResultScaleOf(graph, product);
    const TensorId zero_point = ResultZeroPointOf(graph, product, builder);
    const Node& bound = graph.node(product.bound);
    absl::InlinedVector<TensorId, 4> inputs = bound.inputs;
    inputs[0] = builder->Add(OpKind::kDequantizeLinear, {}, {y, scale, zero_point});
    const TensorId bounded = builder->Add(bound.op, *bound.attributes, inputs);
    y = builder->Add(OpKind::kQuantizeLinear, {}, {bounded, scale, zero_point});
  }
  return builder->Replace(product.quantize, y);
}

TensorId ResultScaleOf(const Graph& graph, const QuantizedProduct& product) {
  return graph.node(product.quantize).inputs[1];
}

TensorId ResultZeroPointOf(const Graph& graph, const QuantizedProduct& product,
                           RewriteBuilder* builder) {
  const TensorId zero_point = InputOr(graph, product.quantize, 2);
  if (zero_point != kNoTensor) return zero_point;
  const int64_t zero = 0;
  return builder->AddConstant(
      Tensor::FromInt64s({product.dtype, {}}, absl::MakeConstSpan(&zero, 1)));
}

std::optional<TensorId> BiasOfSums(const Graph& graph, const QuantizedProduct& product,
                                   const Dequantized& x, const Dequantized& w, int64_t channels,
                                   RewriteBuilder* builder) {
  const TensorId bias = InputOr(graph, product.product, 2);
  if (bias == kNoTensor) return kNoTensor;
  const TensorType& type = graph.type(bias);
  // A column has as many elements where the product is square, and is a bias of rows.
  const bool is_row =
      type.elements() == channels && type.rank() > 0 && type.shape.back() == channels;
  if (graph.tensor(bias).constant == nullptr || !is_row) return std::nullopt;
  const auto dequantized = DequantizedInput(graph, product.product, 2);
  const bool in_units = dequantized && IsInUnits(*dequantized, x, w);
  if (!in_units && !MayBeRounded(product, x, w)) return std::nullopt;
  const bool is_vector = type.rank() == 1;
  const TensorId vector = is_vector ? bias : builder->Reshape(bias, {channels});
  const TensorId units = builder->Fold(OpKind::kMul, {ScaleOf(x, builder), ScaleOf(w, builder)});
  const TensorId quotients = builder->Fold(OpKind::kDiv, {vector, units});
  // Half of what int32 has: the rest is for the sums.
  const TensorId bounded =
      builder->Fold(OpKind::kClip, {builder->Fold(OpKind::kRound, {quotients}),
                                    builder->AddConstant(Tensor::ScalarFloat(-0x1p30f)),
                                    builder->AddConstant(Tensor::ScalarFloat(0x1p30f))});
  return builder->Fold(OpKind::kCast, {bounded}, {{"to", static_cast<int64_t>(DataType::kInt32)}});
}

}  // namespace plait
