#include "optimizer/ir/match_inputs.h"

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace plait {
namespace {

// "x, y" for the text of an error.
std::string InputNames(const Graph& graph) {
  return absl::StrJoin(graph.inputs(), ", ", [&](std::string* text, TensorId id) {
    absl::StrAppend(text, *graph.tensor(id).name);
  });
}

}  // namespace

// Names first: of one that is spelled wrong the error says what there is.
absl::StatusOr<std::vector<int>> MatchInputs(const Graph& graph,
                                             absl::Span<const GivenInput> given) {
  absl::flat_hash_map<absl::string_view, int> by_name;
  absl::flat_hash_set<absl::string_view> inputs;
  for (const TensorId id : graph.inputs()) inputs.insert(*graph.tensor(id).name);
  for (size_t i = 0; i < given.size(); ++i) {
    const std::string name = absl::CHexEscape(given[i].name);
    if (!inputs.contains(given[i].name)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "input ", name, ": the model has no such input (it has ", InputNames(graph), ")"));
    }
    if (!by_name.emplace(given[i].name, static_cast<int>(i)).second) {
      return absl::InvalidArgumentError(absl::StrCat("input ", name, ": has two values"));
    }
  }
  std::vector<int> order;
  for (const TensorId id : graph.inputs()) {
    const TensorInfo& input = graph.tensor(id);
    const auto found = by_name.find(*input.name);
    if (found == by_name.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("input ", *input.name, ": is ", input.type.ToString(), ", has no value"));
    }
    const int64_t size_bytes = given[static_cast<size_t>(found->second)].size_bytes;
    if (size_bytes != input.type.bytes()) {
      return absl::InvalidArgumentError(
          absl::StrCat("input ", *input.name, ": is ", input.type.ToString(), " of ",
                       input.type.bytes(), " bytes, its value has ", size_bytes));
    }
    order.push_back(found->second);
  }
  return order;
}

}  // namespace plait
