#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "optimizer/ir/graph.h"

namespace plait {

// A value that somebody gives to an input of a graph: its elements lie elsewhere, row-major.
struct GivenInput {
  absl::string_view name;  // borrowed
  int64_t size_bytes = 0;
};

// For each input of the graph, in its order, the index of the value that is given to it.
// Errors: InvalidArgument naming the input, its type and what was found, for an input without a
// value or with two, a value of another size, and a name that is no input's. Pure.
absl::StatusOr<std::vector<int>> MatchInputs(const Graph& graph,
                                             absl::Span<const GivenInput> given);

}  // namespace plait
