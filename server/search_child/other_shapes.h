#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "optimizer/onnx/bind.h"
#include "plait/v1/optimization.pb.h"

namespace plait {

// A few: each costs two loads, and what is wrong at one size mostly is at others.
inline constexpr size_t kOtherShapesMax = 2;

// Shapes of the inputs at which what is found for `planned`, the model at the shapes of a plan, is
// to be compared, too. In ranges of the options: sizes without a plan of their own to which this is
// the nearest plan, the farthest first; where it is the nearest of none, no shapes. Without ranges:
// smaller sizes of the dimensions that the model leaves open, or larger ones where there are none.
// Pure and thread-safe.
std::vector<Bindings> OtherShapesOf(const Model& model, const v1::OptimizeOptions& options,
                                    const Graph& planned);

// The model at these shapes, where it can be bound to them and `memory_bytes` hold it (0: any do).
std::vector<Graph> GraphsAt(const Model& model, const std::vector<Bindings>& shapes,
                            int64_t memory_bytes);

}  // namespace plait
