#pragma once

#include <string>

#include "absl/types/span.h"

namespace plait {

// One use of an operator, as lines of graph text: what comes before the node, the node, and the
// types of its outputs as they must be inferred.
struct OperatorSample {
  const char* op;
  const char* tensors;
  const char* node;
  const char* types;
};

// At least one sample of every operator in op_kinds.def: what the conformance suite runs.
absl::Span<const OperatorSample> OperatorSamples();

// The sample as a graph with the outputs of its node (%y, and %y1, %y2 where it has them).
std::string GraphTextOf(const OperatorSample& sample);

}  // namespace plait
