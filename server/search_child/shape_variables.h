#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "optimizer/onnx/bind.h"
#include "plait/v1/optimization.pb.h"

// The dimensions of a job's inputs that have more than one size. Pure and thread-safe.
namespace plait {

// Sizes that dimensions of one symbol take together, or one dimension without a symbol.
struct ShapeVariable {
  int64_t low = 1;
  int64_t high = 1;
  std::vector<std::pair<std::string, size_t>> places;  // input and axis
};

// By symbol, or by the place of what has none. Ordered, so that equal options give equal plans.
using ShapeVariables = std::map<std::string, ShapeVariable>;

// What is wrong with the plans that a job asks for (INVALID_REQUEST).
absl::Status InvalidPlans(absl::string_view what);

// Those of the options' ranges.
// Errors: InvalidArgument (INVALID_REQUEST) for a range that contradicts another one or the model.
absl::StatusOr<ShapeVariables> VariablesOf(const Model& model, const v1::OptimizeOptions& options);

// The sizes for which a range has plans, ascending: its ends and the powers of two between them.
std::vector<int64_t> BucketsOf(const ShapeVariable& variable);

}  // namespace plait
