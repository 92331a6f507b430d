#pragma once

#include <optional>

#include "gpu_worker/backends/cpu/kernels/tile_instructions.h"
#include "gpu_worker/backends/cpu/kernels/unary_choice.h"

namespace plait {

// Which loops compute an operator's line of elementwise_ops.def. Each is nullopt for operators of
// another kind. Pure and thread-safe.

std::optional<UnaryChoice> UnaryOf(const Node& node);

// Powers that are cheaper as products or a root.
std::optional<UnaryLoop> PowerOf(const Graph& graph, const Node& node);

// Of a Cast from floats to floats, which registers hold as float32.
UnaryLoop FloatCastOf(DataType to);

struct BinaryChoice {
  BinaryLoop floats;
  std::optional<IntegerLoop> integers;
};
std::optional<BinaryChoice> BinaryOf(OpKind op);

// Operators whose result is a truth, of integers and, but for logic, of floats; and those of bits,
// which are the loops of logic.
struct TruthChoice {
  std::optional<CompareLoop> floats;
  IntegerLoop integers;
};
std::optional<TruthChoice> TruthOf(OpKind op);

}  // namespace plait
