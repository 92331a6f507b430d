#include "gpu_worker/backends/cpu/offers/plane_layers.h"

#include <optional>
#include <vector>

#include "gpu_worker/backends/cpu/offers/constant_product.h"
#include "gpu_worker/backends/groups/pointwise.h"

namespace plait {
namespace {

// What of a product decides whether it is worth computing in planes, and possible.
struct ProductShape {
  int64_t rows;
  int64_t depth;
  int64_t columns;
};

// The same of a convolution: places of the window and pixels of an image with what it is padded by.
struct ConvolutionShape {
  int64_t channels;
  int64_t window;
  int64_t padded_pixels;
  int64_t result_channels;
  int64_t result_pixels;  // of all images
};

// Three products of two digits of up to 127 for each number of a row.
constexpr int64_t kDepthMax = 40000;
constexpr int64_t kPlaneNumbersMax = int64_t{64} << 20;  // of three planes of the rows
constexpr int64_t kMultiplicationsMin = int64_t{1} << 20;
constexpr int64_t kPlaneColumnsMin = 16;
constexpr int64_t kDepthMin = 16;

// Whether a product is large enough that writing its rows as planes does not cost more than is
// gained, and small enough that sums of digits fit into int32 and the planes into scratch memory.
bool IsWorthProduct(const ProductShape& shape) {
  if (shape.depth < kDepthMin || shape.depth > kDepthMax || shape.columns < kPlaneColumnsMin) {
    return false;
  }
  if (shape.rows <= 0 || shape.rows > kPlaneNumbersMax / (3 * (shape.depth + 128))) return false;
  return shape.rows * shape.depth >= kMultiplicationsMin / shape.columns;
}

// Channels are rounded up to steps of 64, of which a few would be nearly empty.
bool IsWorthConvolution(const ConvolutionShape& shape) {
  const int64_t channels = (shape.channels + 63) / 64 * 64;
  if (shape.channels < kDepthMin || shape.window > kDepthMax / channels) return false;
  if (shape.padded_pixels > kPlaneNumbersMax / (3 * (channels + 64))) return false;
  return shape.result_channels >= kPlaneColumnsMin &&
         shape.result_pixels * shape.channels * shape.window >=
             kMultiplicationsMin / shape.result_channels;
}

bool IsProduct(const Graph& graph, const Node& node) {
  const Shape& input = graph.type(node.inputs[0]).shape;
  const Shape& output = graph.type(node.outputs[0]).shape;
  return IsWorthProduct({output[0] * output[2] * output[3], input[1], output[1]});
}

bool IsConvolution(const Graph& graph, const Node& node) {
  const Shape& input = graph.type(node.inputs[0]).shape;
  const Shape& weights = graph.type(node.inputs[1]).shape;
  const Shape& output = graph.type(node.outputs[0]).shape;
  std::vector<int64_t> pads = node.attributes->Ints("pads");
  if (pads.empty()) pads.assign(4, 0);
  return IsWorthConvolution(
      {.channels = input[1],
       .window = weights[2] * weights[3],
       .padded_pixels = (input[2] + pads[0] + pads[2]) * (input[3] + pads[1] + pads[3]),
       .result_channels = output[1],
       .result_pixels = output[0] * output[2] * output[3]});
}

}  // namespace

bool IsProductInPlanes(const Graph& graph, NodeId id) {
  const std::optional<ConstantProduct> product = ConstantProductAt(graph, id);
  return product.has_value() && IsWorthProduct({product->rows, product->depth, product->columns});
}

bool IsConvolutionInPlanes(const Graph& graph, NodeId id) {
  if (!IsImageConvolution(graph, id)) return false;
  const Node& node = graph.node(id);
  if (node.attributes->Int("group", 1) != 1) return false;
  return IsPointwise(graph, id) ? IsProduct(graph, node) : IsConvolution(graph, node);
}

}  // namespace plait
