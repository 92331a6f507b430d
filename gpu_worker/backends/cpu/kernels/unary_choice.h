#pragma once

#include <optional>

#include "gpu_worker/backends/cpu/loops/loops.h"
#include "gpu_worker/backends/groups/elementwise_ops.h"
#include "gpu_worker/backends/groups/epilogue.h"

namespace plait {

// The loop that computes a unary operator, with its parameters.
struct UnaryChoice {
  UnaryLoop loop;
  float alpha = 0;
  float beta = 0;
};

// By the operator's line in elementwise_ops.def; nullopt where it has none.
// What the parameters mean is said with UnaryParameters.
std::optional<UnaryChoice> ChooseUnary(OpKind op, const UnaryParameters& parameters);

// Of an activation or a linear operation; nullopt where there is no loop of it.
std::optional<UnaryChoice> ChooseUnary(const PostOperation& operation);

}  // namespace plait
