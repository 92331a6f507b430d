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

struct BoundInputs {
  std::vector<TensorType> types;  // in the model's order; kUndefined where the IR has no such type
  SymbolSizes symbols;
};

// Errors: as Bind, for inputs.
absl::StatusOr<BoundInputs> BindInputs(const Model& model, const Bindings& shapes);

// The static type of a declared value; kUndefined when the declaration leaves a dimension open.
TensorType ResolveType(const ModelValue& value, const SymbolSizes& symbols);

}  // namespace plait
