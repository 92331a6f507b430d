#include "optimizer/ops/shared/quantization.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/ops/shared/axes.h"
#include "optimizer/ops/shared/versions.h"

namespace plait {
namespace {

// A scalar, or a list of one.
bool IsOne(const TensorType& type) { return type.elements() == 1 && type.rank() <= 1; }

}  // namespace

std::optional<IntegerRange> QuantizedRange(DataType dtype) {
  switch (dtype) {
    case DataType::kUint8:
      return IntegerRange{0, 255};
    case DataType::kInt8:
      return IntegerRange{-128, 127};
    case DataType::kUint16:
      return IntegerRange{0, 65535};
    case DataType::kInt16:
      return IntegerRange{-32768, 32767};
    default:
      return std::nullopt;
  }
}

// Beyond 2^24 a float has no digits behind the point, and any range has ended.
int64_t Quantized(float scaled, int64_t zero_point, const IntegerRange& range) {
  const double rounded = std::nearbyint(scaled) + static_cast<double>(zero_point);
  if (!(rounded > static_cast<double>(range.lowest))) return range.lowest;
  return rounded < static_cast<double>(range.highest) ? static_cast<int64_t>(rounded)
                                                      : range.highest;
}

absl::StatusOr<ScaleGrid> ReadScaleGrid(const OpCall& call) {
  const TensorType& x = call.input_types[0];
  const TensorType& scale = call.input_types[1];
  if (call.has_input(2) && call.input_types[2].shape != scale.shape &&
      !(IsOne(scale) && IsOne(call.input_types[2]))) {
    return absl::InvalidArgumentError(
        absl::StrCat("the zero point ", call.input_types[2].ToString(),
                     " must have the shape of the scale ", scale.ToString()));
  }
  const int64_t block = call.attributes.Int("block_size", 0);
  ScaleGrid grid;
  if (block == 0 && IsOne(scale)) return grid;
  PLAIT_ASSIGN_OR_RETURN(const int axis, AxisOfInput(call, "axis", 1));
  const absl::Status mismatch = absl::InvalidArgumentError(
      absl::StrCat("a scale ", scale.ToString(), " with block_size ", block, " does not fit axis ",
                   axis, " of ", x.ToString()));
  grid.extent = x.shape[axis];
  for (int i = axis + 1; i < x.rank(); ++i) grid.inner *= x.shape[i];
  if (block == 0) {
    grid.block = 1;
    grid.blocks = grid.extent;
    if (scale.shape != Shape{grid.extent}) return mismatch;
    return grid;
  }
  if (block < 0 || scale.rank() != x.rank()) return mismatch;
  grid.has_columns = true;
  grid.block = block;
  grid.blocks = grid.extent / block + (grid.extent % block == 0 ? 0 : 1);
  Shape wanted = x.shape;
  wanted[axis] = grid.blocks;
  if (scale.shape != wanted) return mismatch;
  return grid;
}

absl::Status LowerQuantization(VersionedNode* node) {
  const bool has_axis = node->input_types.size() > 1 && node->input_types[1].rank() > 0 &&
                        node->input_types[1].elements() != 1;
  if (node->opset < 13) {
    if (has_axis) return NeedsOpset("a scale along an axis", 13);
    node->attributes.Erase("axis");
  }
  if (node->opset < 21) {
    if (node->attributes.Int("block_size", 0) != 0) return NeedsOpset("a scale of blocks", 21);
    for (const TensorType& type : node->input_types) {
      if (type.dtype == DataType::kInt16 || type.dtype == DataType::kUint16) {
        return NeedsOpset("a type of 16 bits", 21);
      }
    }
    if (node->attributes.Int("output_dtype", 0) != 0) return NeedsOpset("output_dtype", 21);
    node->attributes.Erase("block_size");
    node->attributes.Erase("output_dtype");
  }
  if (node->opset < 19) {
    node->attributes.Erase("saturate");
    for (const TensorType& type : node->input_types) {
      if (type.dtype == DataType::kFloat16 || type.dtype == DataType::kBfloat16) {
        return NeedsOpset("a type of 16 bits", 19);
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace plait
