#pragma once

#include <optional>
#include <string>

#include "base/random.h"
#include "optimizer/rules/laws/law.h"

namespace plait {

// A law of which one thing in the target is otherwise.
struct Mutant {
  std::string change;  // "exchanged operands of node 1"
  Law law;
};

// Changes one node of the law's target: its operands exchanged, another axis, another stride, other
// pads, an Add for a Mul or the reverse, another operand, or the node dropped. None when what was
// drawn does not apply, or when the result has no types or other ones at the law's own sizes: such
// a mutant cannot become a law, and catching it would show nothing.
std::optional<Mutant> Mutate(const Law& law, Random* random);

}  // namespace plait
