#pragma once

#include <optional>

#include "base/random.h"
#include "optimizer/rules/laws/law.h"

namespace plait {

// A graph in which a law's source may be found: the source with sizes that are drawn, and what else
// a rule has to cope with: more dimensions than the law's for some of its inputs, operands that are
// broadcast, constants, another function than Relu, biases and other windows of convolutions,
// values inside of it that are outputs too. None where what was drawn has no types.
std::optional<Graph> DrawInstance(const Law& law, Random* random);

}  // namespace plait
