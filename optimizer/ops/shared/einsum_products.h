#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "optimizer/ops/shared/op_spec.h"

namespace plait {

// OpSpec::expand of Einsum: "bhid,bhjd->bhij" of queries and keys is a transposition of the keys
// and a MatMul. Floats narrower than 32 bits are computed in float32, and rounded once.
// Errors: Unimplemented for diagonals, axes of 1 that are repeated, empty tensors, integers that
// MatMul does not take, and operands whose products from left to right would be far larger than
// all that comes in and goes out; as the operators' for tensors beyond the limits.
absl::StatusOr<std::vector<TensorId>> ExpandEinsum(const Node& node, GraphBuilder* builder);

// Whether ExpandEinsum can write this use. REQUIRES: Einsum's infer accepted the call.
bool IsEinsumOfProducts(const OpCall& call);

}  // namespace plait
