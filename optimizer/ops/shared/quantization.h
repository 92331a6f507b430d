#pragma once

#include <optional>

#include "absl/status/statusor.h"
#include "optimizer/ops/shared/op_spec.h"

// Numbers as small integers: x = (q - zero point) * scale. The scale and the zero point are those
// of a whole tensor, of each index along an axis, or of each block along it.
namespace plait {

// The numbers that an integer type of up to 16 bits has.
struct IntegerRange {
  int64_t lowest = 0;
  int64_t highest = 255;
};

// nullopt for any other type.
std::optional<IntegerRange> QuantizedRange(DataType dtype);

// The integer nearest to `scaled`, of two the even one, moved by the zero point, and the nearest
// one that the range has. A NaN is the lowest.
int64_t Quantized(float scaled, int64_t zero_point, const IntegerRange& range);

// Which scale belongs to which element of a tensor [outer, extent, inner].
struct ScaleGrid {
  int64_t extent = 1;
  int64_t inner = 1;
  int64_t block = 0;         // elements along the axis that share a scale; 0: all of the tensor
  int64_t blocks = 1;        // of the axis
  bool has_columns = false;  // whether each [outer, inner] has scales of its own

  // The place of an element's scale.
  int64_t At(int64_t element) const {
    if (block == 0) return 0;
    const int64_t along = element / inner % extent / block;
    if (!has_columns) return along;
    return (element / (inner * extent) * blocks + along) * inner + element % inner;
  }
};

// Of the scale in input 1, by the attributes axis and block_size, for the tensor in input 0.
// Errors: InvalidArgument when they do not fit each other, or a zero point in input 2 does not fit
// the scale.
absl::StatusOr<ScaleGrid> ReadScaleGrid(const OpCall& call);

// OpSpec::lower of QuantizeLinear and DequantizeLinear.
absl::Status LowerQuantization(VersionedNode* node);

}  // namespace plait
