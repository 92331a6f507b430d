#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "optimizer/ir/graph.h"

namespace plait {

// Two graphs with the same inputs and outputs that compute the same. Sizes of inputs are variables:
// equal sizes are one variable, and sizes 1 and 3 are meant as they are (kernels). The sizes of a
// Split are variables too. Relu stands for any function of one element.
struct Law {
  std::string name;
  std::string evidence;  // how it was proved, in words
  Graph source;
  Graph target;
  // Whether the 3x3 kernels of its Convs, with their strides, pads and dilations, are one variable,
  // and all that its AveragePools say another: it holds for any of them.
  bool any_window = false;
};

// Whether a size in a law's text is a variable.
inline bool IsVariableSize(int64_t size) { return size != 1 && size != 3; }

// The text form, for any number of laws:
//
//   law: matrix_1
//   evidence: ..
//   windows: any         where any_window is true
//   source:
//   graph { .. }
//   target:
//   graph { .. }
//
// Lines that start with # in front of a law are comments. Print(Parse(Print(laws))) ==
// Print(laws). The text may be anything. Errors: InvalidArgument naming the law and what is wrong
// with it: a section that is missing or twice, a graph that cannot be typed, sides whose inputs or
// outputs differ in number or type, a name that another law has.
std::string PrintLaws(const std::vector<Law>& laws);
absl::StatusOr<std::vector<Law>> ParseLaws(absl::string_view text);

}  // namespace plait
