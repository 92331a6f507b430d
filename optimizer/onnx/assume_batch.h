#pragma once

#include <string>
#include <vector>

#include "optimizer/onnx/bind.h"

namespace plait {

// Whether a dimension that a model leaves open counts the examples of a batch: it is named so
// ("batch", "N", "batch_size" and the like), or it is the first one of its input and not named
// after a length.
bool IsBatchLike(const Dimension& dimension, size_t axis);

// The shapes given, and those of the other inputs whose open dimensions are all batch-like, or have
// a symbol that a given shape settles: with 1 in the place of a batch. Inputs with further open
// dimensions stay without a shape, for Bind to name. `assumed` gets each dimension that became 1,
// as in "dimension 0 (batch) of x". Pure and thread-safe.
Bindings WithBatchOfOne(const Model& model, Bindings shapes, std::vector<std::string>* assumed);

}  // namespace plait
