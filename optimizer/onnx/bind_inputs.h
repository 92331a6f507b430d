#pragma once

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "optimizer/ir/tensor_type.h"
#include "optimizer/onnx/bind.h"

namespace plait {

// The sizes that symbols of a model stand for.
using SymbolSizes = absl::flat_hash_map<std::string, int64_t>;

// What the given shapes say about a model's inputs.
struct BoundInputs {
  std::vector<TensorType> types;  // in the model's order; kUndefined where the IR has no such type
  SymbolSizes symbols;
};

// Gives every input a static type: the shape that was given for it, or the declared one with the
// symbols that other inputs' shapes settle. Pure and thread-safe.
// Errors: as Bind, for inputs.
absl::StatusOr<BoundInputs> BindInputs(const Model& model, const Bindings& shapes);

// The static type of a declared value; kUndefined when the declaration leaves a dimension open.
TensorType ResolveType(const ModelValue& value, const SymbolSizes& symbols);

}  // namespace plait
