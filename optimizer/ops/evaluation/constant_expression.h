#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "optimizer/ir/constant.h"
#include "optimizer/ir/op_kind.h"
#include "optimizer/ops/shared/op_spec.h"

namespace plait {

// 2 G: a second or two of reference evaluation, each time that a plan is loaded. What takes more is
// left to kernels.
constexpr int64_t kFoldedFlopsMax = int64_t{1} << 31;

// Whether the result of an operator over constants (null for omitted inputs) may be a constant
// itself: as an expression of kConstantDepthMax operators at most, of which none gives more than
// kFoldedBytesMax or takes more than kFoldedFlopsMax.
bool MayBeFolded(const OpCall& call, OpKind op, absl::Span<const ConstantRef> inputs,
                 absl::Span<const TensorType> output_types);

// An operator applied to constants: output `output_index` of `output_count`, as an expression that
// is computed only when the model is materialized. When every input is inline and the result is
// small (kInlineConstantBytesMax), it is computed at once, so that rules can read it. Concats of
// Concats become one, so that equal results of repeated merging are equal expressions. A null input
// is an omitted one. Errors: those of InferTypes and, when computed at once, of the operator's
// evaluation; ResourceExhausted where it may not be folded.
absl::StatusOr<ConstantRef> ApplyToConstants(OpKind op, AttributesRef attributes,
                                             std::vector<ConstantRef> inputs, int output_index = 0,
                                             int output_count = 1);

}  // namespace plait
