#pragma once

#include <limits>
#include <optional>
#include <vector>

#include "gpu_worker/backends/cpu/loops/loops.h"
#include "gpu_worker/backends/cpu/run/kernel.h"
#include "gpu_worker/backends/groups/epilogue.h"

namespace plait {

// The operations that follow a product or convolution whose result lies in rows, one element per
// channel in each: the rows of a matrix, or the pixels of an image in channels-last. Applied to a
// piece of a row when it has been computed and is still in the first cache. Free of state once it
// is loaded.
class RowEpilogue {
 public:
  // How the rows of what operations are applied to lie.
  struct Rows {
    int64_t floats = 0;        // of a row
    int64_t apart_floats = 0;  // from one row to the next
  };

  // For operations on rows of a result of this format. `bias` has one float
  // per channel that the product itself adds, or is nullptr: then an operation that begins with the
  // same takes its place.
  // Errors: InvalidArgument (LoadContext::Refuse) for an operand in another format.
  static absl::StatusOr<RowEpilogue> Load(LoadContext* context,
                                          absl::Span<const PostOperation> operations,
                                          const float* bias, Format format, const Rows& rows);

  // What follows the convolution `conv` to channels-last, its bias included. `apart_floats` is from
  // one pixel to the next.
  // Errors: as Load.
  static absl::StatusOr<RowEpilogue> OfConvolution(LoadContext* context, NodeId conv,
                                                   const Epilogue& epilogue, int64_t apart_floats);

  // What whoever computes a row adds to it; nullptr: nothing.
  const float* bias() const { return bias_; }

  // What a Relu or Clip lets through; a NaN stays one.
  struct Bounds {
    float lowest = -std::numeric_limits<float>::infinity();
    float highest = std::numeric_limits<float>::infinity();
  };
  // Takes the first operation away where it is such a one, for whoever computes rows to apply with
  // the bias. Bounds that let everything through where it is another.
  Bounds TakeBounds();
  // The same of a Relu; false where it is another.
  bool TakeRelu();

  // A tensor that is added to the rows.
  struct Added {
    const float* data = nullptr;
    int64_t apart_floats = 0;  // from one row to the next
  };
  // The same of such an addition; no data where it is another.
  Added TakeAdded();

  // `values` are those of a row from a column on.
  void Apply(float* values, int64_t row, int64_t column, int64_t count) const;
  // The same of whole rows.
  void ApplyToRows(float* values, int64_t row, int64_t rows) const;

 private:
  struct Operation {
    LoopTable::Unary unary = nullptr;  // else `binary`
    std::optional<Bounds> bounds;      // of `unary`, if it is a Relu or Clip
    LoopTable::Binary binary = nullptr;
    bool is_added = false;  // of `binary`: a tensor is
    float alpha = 0;
    float beta = 0;
    const float* operand = nullptr;    // of `binary`
    int64_t operand_apart_floats = 0;  // from one row to the next; 0: the same for every row
  };

  const float* bias_ = nullptr;
  Rows rows_;
  std::vector<Operation> operations_;
};

// A kernel whose first node is a product or convolution in rows, and the others what follows it.
struct RowLayer {
  Operand source;  // the node's first input
  Operand result;
  int64_t result_apart_floats = 0;  // from one row of the result to the next
  RowEpilogue epilogue;
};

// Reads such a kernel, whose ends lie in `format`; rows of the result have `row_floats` floats.
// Errors: InvalidArgument (LoadContext::Refuse) for other nodes or formats.
absl::StatusOr<RowLayer> ReadRowLayer(LoadContext* context, Format format, int64_t row_floats);

}  // namespace plait
