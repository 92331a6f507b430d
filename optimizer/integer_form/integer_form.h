#pragma once

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "optimizer/rules/rule.h"

namespace plait {

// Quantized models say in floats what they mean in integers: QuantizeLinear(Conv(DequantizeLinear(
// x), DequantizeLinear(w))) stands for a QLinearConv. These rules read such a pattern as that
// operator, whose sums are exact. They are no laws of equality, as those of rules.def are: where a
// float sum lies between two integers, its rounding may end in the other one of them. So they
// define what the model computes, once, before anything is compared, measured or searched; each
// result is at most one integer from what floats give.
//
// The map of this folder:
//   integer_form          the rules and how they are applied
//   integer_conv, integer_gemm, integer_mat_mul   a rule each, by the operator between
//   dequantized           what the operators read
//   integer_product       what becomes of their results, and their bias
extern const Rule kIntegerConv;
extern const Rule kIntegerGemm;
extern const Rule kIntegerMatMul;

// All of them, in the order in which they are tried.
absl::Span<const Rule* const> IntegerRules();

// The graph with these rules applied until none matches; a graph in which none does comes back as
// it is. Inputs, outputs and their names stay. Pure and thread-safe.
// Errors: Internal when a rule produced a wrong rewrite.
absl::StatusOr<Graph> IntegerForm(const Graph& graph);

}  // namespace plait
