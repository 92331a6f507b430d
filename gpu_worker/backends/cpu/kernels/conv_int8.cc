#include "gpu_worker/backends/cpu/kernels/digit_convolution.h"
#include "gpu_worker/backends/cpu/kernels/digit_product.h"
#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/offers/pointwise.h"

namespace plait {
namespace {

DigitConvolution::Problem ConvolutionOf(const Graph& graph, const Node& node) {
  const Shape& input = graph.type(node.inputs[0]).shape;
  const Shape& weights = graph.type(node.inputs[1]).shape;
  const Shape& output = graph.type(node.outputs[0]).shape;
  const std::vector<int64_t> strides = node.attributes->Ints("strides");
  const std::vector<int64_t> dilations = node.attributes->Ints("dilations");
  const std::vector<int64_t> pads = node.attributes->Ints("pads");
  DigitConvolution::Problem problem{
      .images = input[0], .channels = input[1], .result_channels = output[1]};
  for (int axis = 0; axis < 2; ++axis) {
    problem.size[axis] = input[2 + axis];
    problem.result_size[axis] = output[2 + axis];
    problem.window[axis] = weights[2 + axis];
    problem.strides[axis] = strides.empty() ? 1 : strides[axis];
    problem.dilations[axis] = dilations.empty() ? 1 : dilations[axis];
    problem.pads_begin[axis] = pads.empty() ? 0 : pads[axis];
    problem.pads_end[axis] = pads.empty() ? 0 : pads[2 + axis];
  }
  return problem;
}

// The rows of the product are the result's pixels, each made of one pixel of the input.
DigitProduct::Problem ProductOf(const DigitConvolution::Problem& convolution) {
  const int64_t channels = convolution.channels;
  DigitProduct::Problem product{
      .rows = convolution.images * convolution.result_size[0] * convolution.result_size[1],
      .depth = channels,
      .columns = convolution.result_channels,
      .outer_floats = channels,
      .right_row_floats = 1,
      .right_column_floats = channels};
  if (convolution.strides[0] == 1 && convolution.strides[1] == 1) return product;
  product.inner_rows = convolution.result_size[1];
  product.inner_floats = convolution.strides[1] * channels;
  product.outer_floats = convolution.strides[0] * convolution.size[1] * channels;
  return product;
}

}  // namespace

// Convolutions of images in channels-last, in digits on AMX.
absl::StatusOr<std::unique_ptr<CpuKernel>> LoadConvInt8(LoadContext* context) {
  const Graph& graph = context->graph();
  const std::vector<NodeId>& nodes = context->kernel().nodes;
  if (nodes.empty() || !kConvInt8Offer.runs(graph, nodes[0])) return context->Refuse();
  const DigitConvolution::Problem convolution = ConvolutionOf(graph, graph.node(nodes[0]));
  if (!IsPointwise(graph, nodes[0])) return DigitConvolution::Load(context, convolution);
  return DigitProduct::Load(context, ProductOf(convolution), Format::kChannelsLast);
}

}  // namespace plait
