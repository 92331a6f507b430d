#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "optimizer/ir/constant.h"
#include "optimizer/ir/op_kind.h"

namespace plait {

// An operator applied to constants: output `output_index` of `output_count`, as an expression that
// is computed only when the model is materialized. When every input is inline and the result is
// small (kInlineConstantBytesMax), it is computed at once, so that rules can read it. Concats of
// Concats become one, so that equal results of repeated merging are equal expressions. A null input
// is an omitted one. Errors: those of InferTypes and, when computed at once, of the operator's
// evaluation.
absl::StatusOr<ConstantRef> ApplyToConstants(OpKind op, AttributesRef attributes,
                                             std::vector<ConstantRef> inputs, int output_index = 0,
                                             int output_count = 1);

}  // namespace plait
