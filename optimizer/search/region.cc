#include "optimizer/search/region.h"

#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/kernels/kernel.h"

namespace plait {
namespace {

using TensorMap = absl::flat_hash_map<TensorId, TensorId>;

// Copies nodes of one graph into a builder; `copies` maps tensors that are there already.
class Copier {
 public:
  Copier(const Graph& source, GraphBuilder& builder, TensorMap copies)
      : source_(source), builder_(builder), copies_(std::move(copies)) {}

  TensorId CopyOf(TensorId tensor) {
    if (tensor == kNoTensor) return kNoTensor;
    const auto found = copies_.find(tensor);
    if (found != copies_.end()) return found->second;
    const TensorInfo& info = source_.tensor(tensor);
    PLAIT_CHECK(info.constant != nullptr);
    const TensorId copy = builder_.AddConstant(info.constant, *info.name);
    copies_.emplace(tensor, copy);
    return copy;
  }

  void CopyNode(NodeId id) {
    const Node& original = source_.node(id);
    Node node;
    node.op = original.op;
    node.attributes = original.attributes;
    node.name = original.name;
    for (const TensorId input : original.inputs) node.inputs.push_back(CopyOf(input));
    std::vector<TensorType> types;
    std::vector<std::string> names;
    absl::InlinedVector<bool, 4> omitted;
    for (const TensorId output : original.outputs) {
      omitted.push_back(output == kNoTensor);
      types.push_back(output == kNoTensor ? TensorType() : source_.type(output));
      names.push_back(output == kNoTensor ? "" : *source_.tensor(output).name);
    }
    const std::vector<TensorId> outputs = builder_.AddNode(std::move(node), types, names, omitted);
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (original.outputs[i] != kNoTensor) copies_[original.outputs[i]] = outputs[i];
    }
  }

 private:
  const Graph& source_;
  GraphBuilder& builder_;
  TensorMap copies_;
};

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
  TensorMap inner;
  for (size_t i = 0; i < region.inputs.size(); ++i) {
    inner[replacement.inputs()[i]] = copies.at(region.inputs[i]);
  }
  Copier copier(replacement, builder, std::move(inner));
  for (NodeId node = 0; node < replacement.node_count(); ++node) copier.CopyNode(node);
  for (size_t i = 0; i < region.outputs.size(); ++i) {
    const TensorId output = replacement.outputs()[i];
    if (replacement.type(output) != graph.type(region.outputs[i])) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the type of ", *graph.tensor(region.outputs[i]).name, " changed from ",
          graph.type(region.outputs[i]).ToString(), " to ", replacement.type(output).ToString()));
    }
    copies[region.outputs[i]] = copier.CopyOf(output);
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
  TensorMap copies;
  for (const TensorId input : region.inputs) {
    copies[input] = builder.AddInput(graph.type(input), *graph.tensor(input).name);
  }
  Copier copier(graph, builder, std::move(copies));
  for (const NodeId node : region.nodes) copier.CopyNode(node);
  for (const TensorId output : region.outputs) builder.AddOutput(copier.CopyOf(output));
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
