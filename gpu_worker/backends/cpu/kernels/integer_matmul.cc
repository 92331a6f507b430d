#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/kernels/byte_kernel.h"
#include "gpu_worker/backends/cpu/kernels/integer_rows.h"
#include "gpu_worker/backends/cpu/kernels/operands.h"
#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/team/team.h"
#include "gpu_worker/backends/groups/integer_checks.h"

// [64, 768] by [768, 768]: both sides are widened to 16 bits, the right one when the kernel is
// loaded if it is a constant. A piece of work is a block of columns (16 of AVX2), whose 24 KiB stay
// in the first cache, for 48 rows, six at a time.

namespace plait {
namespace {

constexpr int64_t kPieceRows = 8 * kIntegerTileRowsMax;

class IntegerMatmulKernel : public CpuKernel {
 public:
  struct Layer {
    int64_t batch = 1;  // of matrices on the right, each with `rows` of the left side
    int64_t rows = 1;
    int64_t depth = 1;
    int64_t columns = 1;
    Operand left;
    DataType left_dtype = DataType::kUint8;
    ByteParameter left_zero_point;
    RightBytes right;    // of the first matrix
    bool packs = false;  // in every run
    int16_t* left_rows = nullptr;
    int16_t* right_blocks = nullptr;
    Operand result;
    IntegerLimits limits;
    ByteParameter scales[3];  // of left, right and result, where it is in bytes
    ByteParameter result_zero_point;
    float* factors = nullptr;  // by column, rounded up to blocks; nullptr: the result is int32
  };

  IntegerMatmulKernel(int threads, const Layer& layer)
      : threads_(threads), layer_(layer), blocks_(CeilDiv(layer.columns, IntegerBlockColumns())) {}

  // At load, of a constant right side.
  void PackRight() const {
    ForEachPart(threads_, layer_.batch * blocks_, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) {
        RightBytes right = layer_.right;
        right.data += i / blocks_ * layer_.depth * layer_.columns;
        PackRightBlock(right, i % blocks_,
                       layer_.right_blocks + i * IntegerBlockNumbers(layer_.depth));
      }
    });
  }

  absl::Status Run() override {
    if (layer_.packs) PackRight();
    const int32_t zero_point = layer_.left_zero_point.integer(0);
    ForEachPart(threads_, layer_.batch * layer_.rows, [&](int64_t begin, int64_t end, int) {
      for (int64_t row = begin; row < end; ++row) {
        WidenLeftRow(BytesAt(layer_.left) + row * layer_.depth, layer_.depth, layer_.left_dtype,
                     zero_point, layer_.left_rows + row * left_numbers());
      }
    });
    for (int64_t n = 0; layer_.factors != nullptr && n < layer_.columns; ++n) {
      layer_.factors[n] =
          layer_.scales[0].scale(0) * layer_.scales[1].scale(n) / layer_.scales[2].scale(0);
    }
    const int64_t pieces = CeilDiv(layer_.rows, kPieceRows);
    ForEachPart(threads_, layer_.batch * pieces * blocks_, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) {
        RunPiece(i / (pieces * blocks_), i / blocks_ % pieces * kPieceRows, i % blocks_);
      }
    });
    return absl::OkStatus();
  }

 private:
  int64_t left_numbers() const { return 2 * PairsOf(layer_.depth); }

  void RunPiece(int64_t matrix, int64_t first, int64_t block) const {
    // Two vectors of AVX-512 for each row.
    int32_t sums[kIntegerTileRowsMax * 32];
    const int64_t columns = IntegerBlockColumns();
    const int64_t column = block * columns;
    const int64_t count = std::min(columns, layer_.columns - column);
    const int64_t last = std::min(first + kPieceRows, layer_.rows);
    const int64_t bytes = BytesOf(layer_.result.type.dtype);
    const SumsTarget target = {layer_.result.type.dtype, layer_.result_zero_point.integer(0),
                               layer_.factors == nullptr ? nullptr : layer_.factors + column,
                               nullptr, layer_.limits};
    for (int64_t row = first; row < last; row += kIntegerTileRowsMax) {
      const int rows = static_cast<int>(std::min<int64_t>(kIntegerTileRowsMax, last - row));
      const int64_t at = matrix * layer_.rows + row;
      IntegerTile tile = {.right = layer_.right_blocks +
                                   (matrix * blocks_ + block) * IntegerBlockNumbers(layer_.depth),
                          .pairs = PairsOf(layer_.depth),
                          .sums = sums,
                          .sums_row_numbers = columns};
      SetLeftRows(layer_.left_rows + at * left_numbers(), left_numbers(), rows, &tile);
      Loops().integers.tile(tile);
      for (int i = 0; i < rows; ++i) {
        WriteSums(target, sums + i * columns, count,
                  layer_.result.data + ((at + i) * layer_.columns + column) * bytes);
      }
    }
  }

  int threads_;
  Layer layer_;
  int64_t blocks_;
};

using Layer = IntegerMatmulKernel::Layer;

// Extents: with one matrix on the right the batch is more rows.
void SetExtents(const Shape& left, const Shape& right, Layer* layer) {
  layer->depth = left.back();
  layer->columns = right.back();
  layer->batch = 1;
  for (size_t i = 0; i + 2 < right.size(); ++i) layer->batch *= right[i];
  layer->rows = ElementsOf(left) / layer->depth / layer->batch;
}

// Of QLinearMatMul: scales, and room for the factors of columns.
absl::Status AddScales(LoadContext* context, const Node& node, Layer* layer) {
  constexpr size_t kScales[] = {1, 4, 6};
  for (size_t i = 0; i < 3; ++i) {
    PLAIT_ASSIGN_OR_RETURN(layer->scales[i], ByteParameterOf(context, node, kScales[i]));
  }
  PLAIT_ASSIGN_OR_RETURN(layer->result_zero_point, ByteParameterOf(context, node, 7));
  PLAIT_ASSIGN_OR_RETURN(layer->factors, ScratchOf<float>(context, layer->columns));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<CpuKernel>> LoadWidened(LoadContext* context, const Node& node,
                                                       const IntegerBounds& bounds) {
  const Graph& graph = context->graph();
  const bool has_scales = node.op == OpKind::kQLinearMatMul;
  const size_t right_index = has_scales ? 3 : 1;
  Layer layer;
  PLAIT_ASSIGN_OR_RETURN(layer.left, FindIn(context, node.inputs[0], Format::kPlain));
  PLAIT_ASSIGN_OR_RETURN(const Operand right,
                         FindIn(context, node.inputs[right_index], Format::kPlain));
  PLAIT_ASSIGN_OR_RETURN(layer.result, FindIn(context, bounds.result, Format::kPlain));
  layer.limits = bounds.limits;
  SetExtents(layer.left.type.shape, right.type.shape, &layer);
  layer.left_dtype = layer.left.type.dtype;
  PLAIT_ASSIGN_OR_RETURN(layer.left_zero_point, ByteParameterOf(context, node, 2));
  const size_t right_zero_point = has_scales ? 5 : 3;
  layer.right = {BytesAt(right), right.type.dtype, layer.depth, layer.columns};
  PLAIT_ASSIGN_OR_RETURN(layer.right.zero_point, ByteParameterOf(context, node, right_zero_point));
  if (has_scales) PLAIT_RETURN_IF_ERROR(AddScales(context, node, &layer));
  layer.packs = !IsConstantOrOmitted(graph, node, right_index) ||
                !IsConstantOrOmitted(graph, node, right_zero_point);
  const int64_t numbers = layer.batch * CeilDiv(layer.columns, IntegerBlockColumns()) *
                          IntegerBlockNumbers(layer.depth);
  bool is_packed = layer.packs;
  if (layer.packs) {
    PLAIT_ASSIGN_OR_RETURN(layer.right_blocks, ScratchOf<int16_t>(context, numbers));
  } else {
    const Fingerprint form = FingerprintBuilder().Add("integer_matrix").Finish();
    PLAIT_ASSIGN_OR_RETURN(const SharingExecutable::Place place,
                           context->AllocatePacked(numbers * 2, form));
    layer.right_blocks = reinterpret_cast<int16_t*>(place.data);
    is_packed = place.is_packed;
  }
  PLAIT_ASSIGN_OR_RETURN(layer.left_rows, ScratchOf<int16_t>(context, layer.batch * layer.rows * 2 *
                                                                          PairsOf(layer.depth)));
  auto kernel = std::make_unique<IntegerMatmulKernel>(context->width(), layer);
  if (!is_packed) kernel->PackRight();
  return kernel;
}

// A matrix's columns as rows.
Tensor TransposedBytes(const Tensor& matrix) {
  const int64_t rows = matrix.type().shape[0];
  const int64_t columns = matrix.type().shape[1];
  std::string bytes(matrix.bytes().size(), '\0');
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      bytes[column * rows + row] = matrix.bytes()[row * columns + column];
    }
  }
  return Tensor({matrix.type().dtype, {columns, rows}}, std::move(bytes));
}

// A constant matrix on the right makes the left side's rows pixels of a convolution. nullptr where
// it is none, or as MakeByteKernel.
absl::StatusOr<std::unique_ptr<CpuKernel>> LoadBytes(LoadContext* context, const Node& node,
                                                     const IntegerBounds& bounds) {
  const Graph& graph = context->graph();
  const bool has_scales = node.op == OpKind::kQLinearMatMul;
  const size_t right = has_scales ? 3 : 1;
  const size_t right_zero_point = has_scales ? 5 : 3;
  if (graph.type(node.inputs[right]).rank() != 2 || !IsConstantOrOmitted(graph, node, right) ||
      !IsConstantOrOmitted(graph, node, right_zero_point)) {
    return nullptr;
  }
  ByteLayer layer;
  PLAIT_ASSIGN_OR_RETURN(layer.source, FindIn(context, node.inputs[0], Format::kPlain));
  PLAIT_ASSIGN_OR_RETURN(layer.result, FindIn(context, bounds.result, Format::kPlain));
  layer.limits = bounds.limits;
  PLAIT_ASSIGN_OR_RETURN(layer.source_zero_point, ByteParameterOf(context, node, 2));
  PLAIT_ASSIGN_OR_RETURN(layer.weights_zero_point,
                         ByteParameterOf(context, node, right_zero_point));
  constexpr size_t kScales[] = {1, 4, 6};
  for (size_t i = 0; i < 3 && has_scales; ++i) {
    PLAIT_ASSIGN_OR_RETURN(layer.scales[i], ByteParameterOf(context, node, kScales[i]));
  }
  if (has_scales) {
    PLAIT_ASSIGN_OR_RETURN(layer.result_zero_point, ByteParameterOf(context, node, 7));
  }
  PLAIT_ASSIGN_OR_RETURN(const Tensor values, context->ConstantValue(node.inputs[right]));
  layer.source_channels = values.type().shape[0];
  layer.channels = values.type().shape[1];
  layer.window[0].input = layer.source.type.elements() / layer.source_channels;
  layer.window[0].output = layer.window[0].input;
  return MakeByteKernel(context, node, std::move(layer), TransposedBytes(values));
}

}  // namespace

absl::StatusOr<std::unique_ptr<CpuKernel>> LoadIntegerMatmul(LoadContext* context) {
  const std::vector<NodeId>& nodes = context->kernel().nodes;
  if (nodes.empty() || !kIntegerMatmulOffer.runs(context->graph(), nodes[0])) {
    return context->Refuse();
  }
  const auto bounds = ParseBounds(context->graph(), nodes);
  if (!bounds) return context->Refuse();
  const Node& node = context->graph().node(nodes[0]);
  PLAIT_ASSIGN_OR_RETURN(std::unique_ptr<CpuKernel> bytes, LoadBytes(context, node, *bounds));
  if (bytes != nullptr) return bytes;
  return LoadWidened(context, node, *bounds);
}

}  // namespace plait
