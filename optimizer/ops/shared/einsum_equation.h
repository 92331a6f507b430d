#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "optimizer/ir/tensor_type.h"

namespace plait {

// "bij,bjk->bik" with the inputs' shapes: each letter is a label of an axis, which has one extent
// wherever it stands (or 1, which is repeated); the result has the axes behind the arrow, and sums
// run along all others. An ellipsis stands for the axes that have no letter, aligned at the last.
struct EinsumEquation {
  // The labels of each input's axes, and of the result's: indices into `extents`.
  std::vector<std::vector<int>> inputs;
  std::vector<int> output;
  // The labels that are summed along, ascending.
  std::vector<int> summed;
  Shape extents;  // by label
};

// Errors: InvalidArgument for an equation that is none, or that the shapes do not fit.
absl::StatusOr<EinsumEquation> ReadEinsumEquation(absl::string_view equation,
                                                  absl::Span<const TensorType> inputs);

}  // namespace plait
