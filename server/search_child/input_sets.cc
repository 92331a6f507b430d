#include "server/search_child/input_sets.h"

#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "optimizer/ir/match_inputs.h"
#include "proto/wire/error.h"

namespace plait {
namespace {

absl::Status MatchInputSet(const v1::InputSet& set, const Graph& graph) {
  std::vector<GivenInput> given;
  for (const v1::InputValue& value : set.values()) {
    given.push_back({value.name(), value.blob().size_bytes()});
  }
  return MatchInputs(graph, given).status();
}

}  // namespace

absl::Status CheckInputSets(const InputSets& sets, const Graph& graph) {
  for (int set = 0; set < sets.size(); ++set) {
    const absl::Status status = MatchInputSet(sets[set], graph);
    if (status.ok()) continue;
    return wire::Error(v1::ERROR_REASON_INVALID_REQUEST,
                       absl::StrCat("input_sets[", set, "]: ", std::string(status.message())));
  }
  return absl::OkStatus();
}

InputSets InputSetsFor(const Graph& graph, const InputSets& sets) {
  absl::flat_hash_set<absl::string_view> names;
  for (const TensorId id : graph.inputs()) names.insert(*graph.tensor(id).name);
  InputSets fitting;
  for (const v1::InputSet& set : sets) {
    v1::InputSet& own = *fitting.Add();
    for (const v1::InputValue& value : set.values()) {
      if (names.contains(value.name())) *own.add_values() = value;
    }
    if (!MatchInputSet(own, graph).ok()) return {};
  }
  return fitting;
}

}  // namespace plait
