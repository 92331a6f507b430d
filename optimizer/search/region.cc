#include "optimizer/search/region.h"

#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/ir/graph_copier.h"
#include "optimizer/kernels/kernel.h"

namespace plait {
namespace {

using TensorMap = absl::flat_hash_map<TensorId, TensorId>;

// Adds `replacement` for `region`; `copies` maps the whole graph's tensors to the builder's.
absl::Status AddReplacement(const Graph& graph, const Region& region, const Graph& replacement,
                            GraphBuilder& builder, TensorMap& copies) {
  if (replacement.inputs().size() != region.inputs.size() ||
      replacement.outputs().size() != region.outputs.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a region has ", region.inputs.size(), " inputs and ", region.outputs.size(),
                     " outputs, its replacement ", replacement.inputs().size(), " and ",
                     replacement.outputs().size()));
  }
  std::vector<TensorId> inputs;
  for (const TensorId input : region.inputs) inputs.push_back(copies.at(input));
  GraphCopier copier(replacement, &builder, inputs);
  for (NodeId node = 0; node < replacement.node_count(); ++node) copier.CopyNode(node);
  for (size_t i = 0; i < region.outputs.size(); ++i) {
    const TensorId output = replacement.outputs()[i];
    if (replacement.type(output) != graph.type(region.outputs[i])) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the type of ", *graph.tensor(region.outputs[i]).name, " changed from ",
          graph.type(region.outputs[i]).ToString(), " to ", replacement.type(output).ToString()));
    }
    copies[region.outputs[i]] = copier.TensorOf(output);
  }
  return absl::OkStatus();
}

}  // namespace

Region MakeRegion(const Graph& graph, std::vector<NodeId> nodes) {
  Region region;
  region.inputs = InputsOf(graph, nodes);
  region.outputs = OutputsOf(graph, nodes);
  region.nodes = std::move(nodes);
  return region;
}

Graph ExtractRegion(const Graph& graph, const Region& region) {
  GraphBuilder builder;
  GraphCopier copier(graph, &builder, {});
  for (const TensorId input : region.inputs) {
    copier.Set(input, builder.AddInput(graph.type(input), *graph.tensor(input).name));
  }
  for (const NodeId node : region.nodes) copier.CopyNode(node);
  for (const TensorId output : region.outputs) builder.AddOutput(copier.TensorOf(output));
  absl::StatusOr<Graph> extracted = std::move(builder).Finish();
  PLAIT_CHECK(extracted.ok());  // part of an acyclic graph
  return *std::move(extracted);
}

namespace {

absl::Status CheckNames(const Graph& graph, const Graph& stitched) {
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const std::string& name = *graph.tensor(graph.inputs()[i]).name;
    if (*stitched.tensor(stitched.inputs()[i]).name != name) {
      return absl::InvalidArgumentError(absl::StrCat("input ", name, " lost its name"));
    }
  }
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    const std::string& name = *graph.tensor(graph.outputs()[i]).name;
    if (*stitched.tensor(stitched.outputs()[i]).name != name) {
      return absl::InvalidArgumentError(absl::StrCat("output ", name, " lost its name"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Graph> Stitch(const Graph& graph, absl::Span<const Region> regions,
                             absl::Span<const Graph> replacements, OutputNames names) {
  GraphBuilder builder;
  TensorMap copies;
  for (const TensorId input : graph.inputs()) {
    copies[input] = builder.AddInput(graph.type(input), *graph.tensor(input).name);
  }
  for (size_t i = 0; i < regions.size(); ++i) {
    PLAIT_RETURN_IF_ERROR(AddReplacement(graph, regions[i], replacements[i], builder, copies));
  }
  for (const TensorId output : graph.outputs()) {
    const TensorInfo& info = graph.tensor(output);
    if (info.constant != nullptr && !copies.contains(output)) {
      copies[output] = builder.AddConstant(info.constant, *info.name);
    }
    const TensorId copy = copies.at(output);
    // One that an output passes on keeps the name of the input that it is.
    const bool may_rename =
        names == OutputNames::kOfGraph ||
        absl::c_none_of(graph.inputs(), [&](TensorId input) { return copies.at(input) == copy; });
    if (info.producer != kNoNode && may_rename) builder.Rename(copy, *info.name);
    builder.AddOutput(copy);
  }
  PLAIT_ASSIGN_OR_RETURN(Graph stitched, std::move(builder).Finish());
  if (names == OutputNames::kOfGraph) PLAIT_RETURN_IF_ERROR(CheckNames(graph, stitched));
  return stitched;
}

}  // namespace plait
