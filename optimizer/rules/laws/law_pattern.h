#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "optimizer/rules/laws/law.h"

// Rules that are data. How to read the folder:
//   law          two graphs that compute the same, and their text
//   law_pattern  a law prepared for looking for it (this file)
//   bind_law     finds its source in a graph: which tensor each of the law's tensors is
//   write_law    writes its target there, as a Rewrite
//   law_bias     takes along biases of convolutions, which a law's convolutions do not have
//   law_rules    the laws that a search may ask, as rules
namespace plait {

// A law, applied from source to target, with the order in which its source is looked for.
// A value. Thread rule: const access from any thread.
struct LawPattern {
  Law law;
  std::string id;  // see LawId
  NodeId root = kNoNode;
  // No operator but sums and products of elements and functions: then any shape will do, and
  // operands may be broadcast.
  bool is_elementwise = false;

  // How a node of the source is found, when those before it have been.
  struct Visit {
    NodeId node = kNoNode;
    TensorId via = kNoTensor;  // a tensor of the source that is known by then
    bool is_reader = false;    // of `via`, and not its producer
  };
  std::vector<Visit> visits;  // of all nodes but the root

  // Other orders of the inputs under which the source is the same graph: of the places that differ
  // by one of them a rule looks at one.
  std::vector<std::vector<int>> symmetries;
};

// 8 nodes, inputs and outputs: those of the generator have four and less, and what is found out
// about a pattern takes time that grows with its factorial.
inline constexpr int kLawPartsMax = 8;

// Twelve hexadecimal digits that say what the law is, whatever its name and evidence: equal for
// equal texts, today and later. Recipes name rules by it.
std::string LawId(const Law& law);

// Errors: InvalidArgument naming the law, when it cannot be a rule: more parts than kLawPartsMax, a
// source that is not connected or has nothing but functions, a target that needs what the source
// does not say, an operator that nobody can look for.
absl::StatusOr<LawPattern> PatternOf(Law law);

}  // namespace plait
