#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "optimizer/ir/graph.h"
#include "optimizer/rules/generator/core_operators.h"

namespace plait {

// A graph over a core, as small as it is enumerated: values are numbered, inputs of the core first,
// then the outputs of each step.
struct Sketch {
  struct Step {
    int op = 0;                          // index into Core::operators
    absl::InlinedVector<int, 2> inputs;  // values
  };
  std::vector<Step> steps;
  std::vector<int> outputs;  // values
};

// The core's inputs that the sketch reads, in the order in which a walk over its steps meets them.
std::vector<int> InputsRead(const Core& core, const Sketch& sketch);

// Each output as a term over the core's inputs, which are called `names`. Operands of operators
// that commute are sorted, so that equal sketches have equal terms.
std::vector<std::string> SketchTexts(const Core& core, const Sketch& sketch,
                                     absl::Span<const int> names);

// The graph whose inputs are those of `inputs`, of the given types.
// Errors: those of InferTypes, where the operators do not fit the types.
absl::StatusOr<Graph> GraphOf(const Core& core, const Sketch& sketch, absl::Span<const int> inputs,
                              absl::Span<const TensorType> types);

// The sketch with step `index` left out and an input more, the core's last, in the place of what
// the step makes. REQUIRES: the step has one output.
Sketch WithoutStep(const Core& core, const Sketch& sketch, int index);

}  // namespace plait
