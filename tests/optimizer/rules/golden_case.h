#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "optimizer/ir/graph.h"

namespace plait {

// One case of a golden file:
//
//   case: what it shows
//   before:
//   graph { .. }
//   after:            or the line `no match`, and behind it what the rule says of that:
//   because: a reason once for each
//   graph { .. }
//   or:               once for every further rewrite that the rule offers there
//   graph { .. }
struct GoldenCase {
  std::string name;
  std::string before;
  std::vector<std::string> after;         // in the rule's order; empty: the rule must not match
  std::vector<std::string> reasons = {};  // of no match, in the rule's order
};

// Where the golden files of rules.def lie.
constexpr absl::string_view kRulesFolder = "tests/optimizer/rules";

// Reads <folder>/golden/<rule>.txt.
// Errors: NotFound when there is no file; InvalidArgument naming the line.
absl::StatusOr<std::vector<GoldenCase>> ReadGoldenFile(absl::string_view rule,
                                                       absl::string_view folder = kRulesFolder);

// Writes the cases back, with their `after` replaced: used when PLAIT_UPDATE_GOLDEN is set.
void WriteGoldenFile(absl::string_view rule, const std::vector<GoldenCase>& cases,
                     absl::string_view folder = kRulesFolder);

}  // namespace plait
