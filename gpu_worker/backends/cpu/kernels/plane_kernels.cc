#include "gpu_worker/backends/cpu/kernels/plane_kernels.h"

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/kernels/plane_convolution.h"
#include "gpu_worker/backends/cpu/kernels/plane_product.h"
#include "gpu_worker/backends/cpu/offers/constant_product.h"
#include "gpu_worker/backends/groups/pointwise.h"

namespace plait {
namespace {

PlaneConvolution::Problem ConvolutionOf(const Graph& graph, const Node& node) {
  const Shape& input = graph.type(node.inputs[0]).shape;
  const Shape& weights = graph.type(node.inputs[1]).shape;
  const Shape& output = graph.type(node.outputs[0]).shape;
  const std::vector<int64_t> strides = node.attributes->Ints("strides");
  const std::vector<int64_t> dilations = node.attributes->Ints("dilations");
  const std::vector<int64_t> pads = node.attributes->Ints("pads");
  PlaneConvolution::Problem problem{
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
PlaneProduct::Problem ProductOf(const PlaneConvolution::Problem& convolution) {
  const int64_t channels = convolution.channels;
  PlaneProduct::Problem product{
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

absl::StatusOr<std::unique_ptr<CpuKernel>> LoadProductInPlanes(LoadContext* context,
                                                               const FamilyOffer& offer,
                                                               LoadPlaneLayer load_layer) {
  const Graph& graph = context->graph();
  const std::vector<NodeId>& nodes = context->kernel().nodes;
  if (nodes.empty() || !offer.runs(graph, nodes[0])) return context->Refuse();
  const ConstantProduct product = *ConstantProductAt(graph, nodes[0]);
  PLAIT_ASSIGN_OR_RETURN(std::unique_ptr<PlaneLayer> layer,
                         load_layer(context, Format::kPlain, product.columns));
  return PlaneProduct::Load(context,
                            {.rows = product.rows,
                             .depth = product.depth,
                             .columns = product.columns,
                             .outer_floats = product.depth,
                             .right_row_floats = product.right_row_floats,
                             .right_column_floats = product.right_column_floats},
                            std::move(layer));
}

absl::StatusOr<std::unique_ptr<CpuKernel>> LoadConvolutionInPlanes(LoadContext* context,
                                                                   const FamilyOffer& offer,
                                                                   LoadPlaneLayer load_layer) {
  const Graph& graph = context->graph();
  const std::vector<NodeId>& nodes = context->kernel().nodes;
  if (nodes.empty() || !offer.runs(graph, nodes[0])) return context->Refuse();
  const PlaneConvolution::Problem convolution = ConvolutionOf(graph, graph.node(nodes[0]));
  PLAIT_ASSIGN_OR_RETURN(std::unique_ptr<PlaneLayer> layer,
                         load_layer(context, Format::kChannelsLast, convolution.result_channels));
  if (!IsPointwise(graph, nodes[0])) {
    return PlaneConvolution::Load(context, convolution, std::move(layer));
  }
  return PlaneProduct::Load(context, ProductOf(convolution), std::move(layer));
}

}  // namespace plait
