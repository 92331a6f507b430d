#include "optimizer/cost/kernel_blocks.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "optimizer/ops/shared/op_spec.h"

// A convolution of 1x1 from 256 to 512 channels on 14x14 pixels is a product of 196 rows, 512
// columns and depth 256. Tiles of 128x128 are 2 * 4 = 8, of 64x64 4 * 8 = 32: too few for 132
// multiprocessors, of which 100 would stand idle. Its depth is cut no further, since parts of less
// than 256 would write more sums than they save. So it has 32 blocks of 2 * 64 * 64 * 256 flops
// each, 4 rows of which compute 256 rows where the result has 196.

namespace plait {
namespace {

constexpr int64_t kLargeTile = 128;
constexpr int64_t kSmallTile = 64;
// Rows or columns up to which a product is read once and multiplied as vectors.
constexpr int64_t kVectorsMax = 16;
// Channels of a group below which tiles would be empty for the most part.
constexpr int64_t kGroupChannelsMin = 32;
// The least depth of a part, and the most parts, of a product whose depth is divided.
constexpr int64_t kPartDepthMin = 256;
constexpr int64_t kPartsMax = 8;
// 256 threads with four elements each.
constexpr int64_t kElementsOfBlock = 1024;
// A warp makes one result of a reduction.
constexpr int64_t kReductionsOfBlock = 8;
constexpr int64_t kQueriesOfBlock = 64;
constexpr int64_t kColumnsOfBlock = 32;
// Of a library's kernels, of whose registers nothing is known: of tiles, and of blocks that compute
// by elements.
constexpr int kSmallTilesSideBySide = 4;
constexpr int kLibraryBlocksSideBySide = 8;

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// `batches` products of [rows, depth] by [depth, columns].
struct Product {
  int64_t batches = 1;
  int64_t rows = 1;
  int64_t columns = 1;
  int64_t depth = 1;
};

int64_t Elements(const Shape& shape, size_t first, size_t last) {
  int64_t elements = 1;
  for (size_t axis = first; axis < last; ++axis) elements *= shape[axis];
  return elements;
}

Product ConvolutionOf(const Graph& graph, NodeId node) {
  const Shape& weights = graph.input_type(node, 1).shape;
  const Shape& output = graph.output_type(node).shape;
  const int64_t groups = std::max<int64_t>(1, graph.node(node).attributes->Int("group", 1));
  return {.batches = groups,
          .rows = output[0] * Elements(output, 2, output.size()),
          .columns = output[1] / groups,
          .depth = Elements(weights, 1, weights.size())};
}

Product MatMulOf(const Graph& graph, NodeId node) {
  const Shape& left = graph.input_type(node, 0).shape;
  const Shape& right = graph.input_type(node, 1).shape;
  const Shape& output = graph.output_type(node).shape;
  Product product;
  product.depth = left.empty() ? 1 : left.back();
  product.columns = right.size() < 2 || output.empty() ? 1 : output.back();
  const int64_t all_rows =
      graph.output_type(node).elements() / std::max<int64_t>(1, product.columns);
  // One right side for all of them makes one product of them.
  const bool is_batched = right.size() > 2 && output.size() > 2;
  product.batches = is_batched ? Elements(output, 0, output.size() - 2) : 1;
  product.rows = all_rows / std::max<int64_t>(1, product.batches);
  return product;
}

Product GemmOf(const Graph& graph, NodeId node) {
  const Shape& output = graph.output_type(node).shape;
  const int64_t depth = graph.input_type(node, 0).elements() / std::max<int64_t>(1, output[0]);
  return {.batches = 1, .rows = output[0], .columns = output[1], .depth = depth};
}

std::optional<Product> ProductOf(const Graph& graph, NodeId node) {
  switch (graph.node(node).op) {
    case OpKind::kConv:
      return ConvolutionOf(graph, node);
    case OpKind::kMatMul:
      return MatMulOf(graph, node);
    case OpKind::kGemm:
      return GemmOf(graph, node);
    default:
      return std::nullopt;
  }
}

// The last one of a kernel: what is in front of it is computed on the way.
std::optional<Product> LastProductOf(const Graph& graph) {
  std::optional<Product> last;
  for (NodeId node = 0; node < graph.node_count(); ++node) {
    if (const std::optional<Product> product = ProductOf(graph, node)) last = product;
  }
  return last;
}

double FlopsOf(const Graph& graph) {
  double flops = 0;
  for (NodeId node = 0; node < graph.node_count(); ++node) {
    flops += static_cast<double>(WorkOf(graph, node).flops);
  }
  return flops;
}

// The elements of the largest tensor that the kernel writes.
int64_t ElementsWritten(const Graph& graph) {
  int64_t elements = 1;
  for (const TensorId output : graph.outputs()) {
    elements = std::max(elements, graph.type(output).elements());
  }
  return elements;
}

int64_t ElementsRead(const Graph& graph) {
  int64_t elements = 1;
  for (const TensorId input : graph.inputs()) {
    elements = std::max(elements, graph.type(input).elements());
  }
  return elements;
}

KernelBlocks InBlocks(const Graph& graph, int64_t blocks) {
  KernelBlocks found;
  found.blocks = std::max<int64_t>(1, blocks);
  found.flops_of_block = FlopsOf(graph) / static_cast<double>(found.blocks);
  found.blocks_side_by_side = kLibraryBlocksSideBySide;
  return found;
}

KernelBlocks ElementBlocks(const Graph& graph) {
  return InBlocks(graph, CeilDiv(ElementsWritten(graph), kElementsOfBlock));
}

// Softmax and normalizations write as much as they read; reductions have fewer results, each of
// which needs at least a warp.
KernelBlocks RowBlocks(const Graph& graph) {
  const int64_t read = CeilDiv(ElementsRead(graph), kElementsOfBlock);
  const int64_t written = ElementsWritten(graph);
  if (written >= ElementsRead(graph)) return InBlocks(graph, CeilDiv(written, kElementsOfBlock));
  return InBlocks(graph, std::min(read, CeilDiv(written, kReductionsOfBlock)));
}

KernelBlocks TileBlocks(const Graph& graph, const Product& product, int multiprocessors) {
  const auto count = [&](int64_t tile) {
    return product.batches * CeilDiv(product.rows, tile) * CeilDiv(product.columns, tile);
  };
  const bool is_large = count(kLargeTile) >= multiprocessors;
  const int64_t tile = is_large ? kLargeTile : kSmallTile;
  const int64_t tiles = std::max<int64_t>(1, count(tile));
  const int64_t parts = std::clamp<int64_t>(
      std::min(multiprocessors / tiles, product.depth / kPartDepthMin), 1, kPartsMax);
  KernelBlocks found;
  found.kind = is_large ? BlockKind::kLargeTile : BlockKind::kSmallTile;
  found.blocks = tiles * parts;
  // What is computed in front of the product, by a separable convolution, each tile of columns
  // computes again.
  double front = FlopsOf(graph) - 2.0 * static_cast<double>(product.batches * product.rows) *
                                      static_cast<double>(product.columns * product.depth);
  front = std::max(0.0, front) * static_cast<double>(CeilDiv(product.columns, tile));
  found.flops_of_block =
      2.0 * static_cast<double>(tile * tile * product.depth) / static_cast<double>(parts) +
      front / static_cast<double>(found.blocks);
  found.blocks_side_by_side = is_large ? 1 : kSmallTilesSideBySide;
  if (parts > 1)
    found.partial_bytes = 2 * parts * 4 * product.batches * product.rows * product.columns;
  return found;
}

KernelBlocks ProductBlocks(const Graph& graph, int multiprocessors) {
  const std::optional<Product> product = LastProductOf(graph);
  if (!product.has_value()) return ElementBlocks(graph);
  const bool is_narrow = std::min(product->rows, product->columns) <= kVectorsMax;
  const bool has_thin_groups = product->batches > 1 && product->columns < kGroupChannelsMin;
  if (has_thin_groups) return ElementBlocks(graph);
  if (is_narrow) return InBlocks(graph, CeilDiv(ElementsWritten(graph), kReductionsOfBlock));
  return TileBlocks(graph, *product, multiprocessors);
}

// A thread has a column, and a block a warp of them.
KernelBlocks ColumnBlocks(const Graph& graph) {
  int64_t columns = ElementsWritten(graph);
  for (NodeId node = 0; node < graph.node_count(); ++node) {
    columns = std::min(columns, graph.output_type(node).elements());
  }
  return InBlocks(graph, CeilDiv(columns, kColumnsOfBlock));
}

// Scores stay on the chip: a block has some queries of one head.
KernelBlocks AttentionBlocks(const Graph& graph) {
  int64_t queries = 1;  // of all heads
  for (NodeId node = 0; node < graph.node_count(); ++node) {
    const Shape& shape = graph.output_type(node).shape;
    if (shape.size() < 2) continue;
    if (graph.node(node).op == OpKind::kMatMul) {
      queries = graph.output_type(node).elements() / std::max<int64_t>(1, shape.back());
      break;
    }
    if (graph.node(node).op != OpKind::kAttention) continue;
    const int64_t heads = graph.node(node).attributes->Int("q_num_heads", 1);
    queries = heads * graph.output_type(node).elements() / std::max<int64_t>(1, shape.back());
    if (shape.size() == 4) queries /= std::max<int64_t>(1, heads);
    break;
  }
  KernelBlocks found = InBlocks(graph, CeilDiv(queries, kQueriesOfBlock));
  found.kind = BlockKind::kSmallTile;
  return found;
}

bool IsRecurrent(const Graph& graph) {
  if (graph.node_count() != 1) return false;
  const OpKind op = graph.node(0).op;
  return op == OpKind::kRNN || op == OpKind::kGRU || op == OpKind::kLSTM;
}

// Of RNN, GRU and LSTM, whose first axis is time. A GRU that resets the state before it multiplies
// meets twice in each step.
KernelBlocks RecurrentBlocks(const Graph& graph) {
  KernelBlocks found = ElementBlocks(graph);
  if (graph.node_count() > 0 && graph.input_type(0, 0).rank() > 0) {
    const Node& node = graph.node(0);
    const bool resets =
        node.op == OpKind::kGRU && node.attributes->Int("linear_before_reset", 0) == 0;
    found.steps_in_turn = std::max<int64_t>(1, graph.input_type(0, 0).shape[0]) * (resets ? 2 : 1);
  }
  return found;
}

std::optional<KernelBlocks> BlocksOfFamily(const LoneKernel& lone, int multiprocessors) {
  const absl::string_view family = lone.kernel.family;
  const Graph& graph = lone.graph;
  if (family == kViewFamily) return KernelBlocks();
  if (family == "conv" || family == "matmul" || family == "separable") {
    return ProductBlocks(graph, multiprocessors);
  }
  if (family == "attention") return AttentionBlocks(graph);
  if (family == "rows") return RowBlocks(graph);
  if (family == "recurrence") return ColumnBlocks(graph);
  // Of what the catalog has no kernels for: how long such would take if there were any.
  if (family == "recurrent_layer" || (family == "other" && IsRecurrent(graph))) {
    return RecurrentBlocks(graph);
  }
  for (const absl::string_view known :
       {"elementwise", "scale_shift", "pool", "move", "resize", "reorder", "other"}) {
    if (family == known) return ElementBlocks(graph);
  }
  return std::nullopt;
}

constexpr absl::string_view kOwnConvolution = "convolution";

// The family of generated kernels that has the like of it, of which `name` is the one; empty: a
// library's. Convolutions are plait's where libraries have none.
absl::string_view GeneratedFamilyOf(const LoneKernel& lone, absl::string_view name) {
  const absl::string_view family = lone.kernel.family;
  if (family == "conv" && absl::StartsWith(name, kOwnConvolution)) return kOwnConvolution;
  if (family == "conv") {
    const std::optional<Product> product = LastProductOf(lone.graph);
    const bool is_depthwise = product.has_value() && product->batches > 1 && product->columns == 1;
    return is_depthwise ? "depthwise" : "";
  }
  if (family == "move" || family == "reorder") return "movement";
  if (family == "other") return "elementwise";
  return family;
}

}  // namespace

std::optional<KernelBlocks> BlocksOf(const LoneKernel& lone, int multiprocessors,
                                     const Multiprocessor& multiprocessor,
                                     const KernelCatalog* catalog) {
  std::optional<KernelBlocks> blocks = BlocksOfFamily(lone, multiprocessors);
  const bool may_be_own = lone.kernel.family != "matmul";
  if (!blocks.has_value() || blocks->blocks == 0 || !may_be_own) return blocks;
  const std::string name =
      catalog == nullptr ? "" : catalog->GeneratedName(lone.graph, lone.kernel);
  const absl::string_view family = GeneratedFamilyOf(lone, name);
  if (family.empty()) return blocks;
  if (family == kOwnConvolution && blocks->kind == BlockKind::kLargeTile) {
    blocks->kind = BlockKind::kSmallTile;
  }
  blocks->resources_of = name;
  std::optional<BlockResources> block =
      ResourcesOf(blocks->resources_of, multiprocessor.architecture);
  if (!block.has_value()) {
    blocks->resources_of = std::string(family);
    block = WorstResourcesOf(family, multiprocessor);
  }
  blocks->blocks_side_by_side = std::max(1, ResidentBlocks(*block, multiprocessor));
  return blocks;
}

}  // namespace plait
