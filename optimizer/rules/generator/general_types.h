#pragma once

#include <optional>
#include <vector>

#include "optimizer/rules/generator/sketch.h"

namespace plait {

// The most general types of `inputs` at which `source` and `target`, whose outputs correspond, have
// types and agree in them. Sizes that must be equal are equal numbers, others differ; 1 and 3 are
// the sizes of kernels. None when a size would have to be a sum of others, which a law's form
// cannot say: those laws are about sizes and not about operators.
//
// MatMul(x, y) + MatMul(x, z): x is [2,4], y and z are [4,5]. Each size is a variable; operators
// make some equal (union and find), a Concat makes sums, a Split takes one apart in halves.
std::optional<std::vector<TensorType>> GeneralTypes(const Core& core, const Sketch& source,
                                                    const Sketch& target,
                                                    absl::Span<const int> inputs);

}  // namespace plait
