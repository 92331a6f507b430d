#include "loading/split_host_part.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "loading/host_nodes/host_node.h"
#include "optimizer/onnx/messages/node_label.h"
#include "optimizer/onnx/opaque_node.h"
#include "optimizer/ops/shared/op_spec.h"

namespace plait {
namespace {

// What takes long enough that it repays a plan for each size.
bool IsHeavy(absl::string_view op_type) {
  constexpr absl::string_view kHeavy[] = {
      "Attention", "Conv",   "ConvInteger",   "ConvTranspose", "Einsum",        "GRU", "Gemm",
      "LSTM",      "MatMul", "MatMulInteger", "QLinearConv",   "QLinearMatMul", "RNN"};
  return std::find(std::begin(kHeavy), std::end(kHeavy), op_type) != std::end(kHeavy);
}

bool IsKnown(const onnx::NodeProto& proto) {
  return IsDefaultDomain(proto.domain()) && OpKindFromName(proto.op_type()).has_value();
}

bool IsHostNode(const onnx::NodeProto& proto) {
  return IsDefaultDomain(proto.domain()) && IsHostOperator(proto.op_type());
}

// Reads something of which nothing is known before a run.
bool Waits(const Graph& graph, const Node& node) {
  return std::any_of(node.inputs.begin(), node.inputs.end(), [&](TensorId input) {
    return input != kNoTensor && !graph.type(input).known();
  });
}

class Splitter {
 public:
  Splitter(const Graph& graph, bool has_runner) : graph_(graph), has_runner_(has_runner) {}

  // Levels as of SegmentsOf: late parts on the odd ones.
  std::vector<HostPart> Run(const Region& region) {
    std::vector<std::vector<NodeId>> groups;
    for (const NodeId node : region.nodes) {
      const int level = LevelOf(node);
      levels_[node] = level;
      if (groups.size() <= static_cast<size_t>(level)) groups.resize(level + 1);
      groups[level].push_back(node);
    }
    std::vector<HostPart> parts;
    for (size_t level = 0; level < groups.size(); ++level) {
      const bool is_late = level % 2 == 1;
      if (has_runner_ || is_late) {
        if (!groups[level].empty()) Add(std::move(groups[level]), is_late, &parts);
        continue;
      }
      for (const NodeId node : groups[level]) Add({node}, is_late, &parts);
    }
    return parts;
  }

 private:
  void Add(std::vector<NodeId> nodes, bool is_late, std::vector<HostPart>* parts) const {
    parts->push_back({MakeRegion(graph_, std::move(nodes)), is_late});
  }

  int LevelOf(NodeId id) const {
    int before = 0;  // the highest level that it reads
    for (const TensorId input : graph_.node(id).inputs) {
      const NodeId producer = input == kNoTensor ? kNoNode : graph_.tensor(input).producer;
      const auto found = levels_.find(producer);
      if (found != levels_.end()) before = std::max(before, found->second);
    }
    const int parity = IsLate(graph_.node(id), before % 2 == 1) ? 1 : 0;
    return before % 2 == parity ? before : before + 1;
  }

  // What a runner has it keeps: it takes any size without being loaded anew.
  bool IsLate(const Node& node, bool follows_late) const {
    const absl::StatusOr<onnx::NodeProto> proto = ReadOpaqueNode(node);
    if (!proto.ok()) return false;
    if (!has_runner_) return IsKnown(*proto);
    return follows_late || (IsKnown(*proto) && IsHeavy(proto->op_type()) && Waits(graph_, node));
  }

  const Graph& graph_;
  const bool has_runner_;
  absl::flat_hash_map<NodeId, int> levels_;  // of the region's nodes
};

// The first node inside of subgraphs that plait does not run; nullptr: it runs all.
const onnx::NodeProto* FindUnknown(const onnx::NodeProto& node) {
  for (const onnx::AttributeProto& attribute : node.attribute) {
    if (!attribute.g.has()) continue;
    for (const onnx::NodeProto& inner : attribute.g().node) {
      const bool is_constant = IsDefaultDomain(inner.domain()) && inner.op_type() == "Constant";
      if (!is_constant && !IsKnown(inner) && !IsHostNode(inner)) return &inner;
      if (const onnx::NodeProto* const found = FindUnknown(inner)) return found;
    }
  }
  return nullptr;
}

absl::Status Refused(const Bound& bound, const std::string& label, const onnx::NodeProto& proto) {
  std::string reason = "unknown operator";
  for (const OpaqueNode& node : bound.opaque_nodes) {
    if (node.name == label) reason = node.reason;
  }
  return absl::UnimplementedError(
      absl::StrCat("node ", label, ": ", proto.op_type(), " cannot be run: ", reason));
}

}  // namespace

std::vector<HostPart> SplitHostPart(const Graph& graph, const Region& region, bool has_runner) {
  return Splitter(graph, has_runner).Run(region);
}

absl::Status CheckRunsByItself(const Bound& bound, const Region& region) {
  for (const NodeId id : region.nodes) {
    const Node& node = bound.graph.node(id);
    PLAIT_ASSIGN_OR_RETURN(onnx::NodeProto proto, ReadOpaqueNode(node));
    // The message has no names: these are what binding called the node by.
    for (size_t i = 0; i < proto.output.size(); ++i) {
      if (node.outputs[i] != kNoTensor) proto.output[i] = *bound.graph.tensor(node.outputs[i]).name;
    }
    const std::string label = NodeLabel(proto);
    if (!IsKnown(proto) && !IsHostNode(proto)) return Refused(bound, label, proto);
    const onnx::NodeProto* const inner = FindUnknown(proto);
    if (inner == nullptr) continue;
    return absl::UnimplementedError(absl::StrCat("node ", label, ": node ", NodeLabel(*inner),
                                                 " of its subgraph, ", inner->op_type(),
                                                 ", cannot be run"));
  }
  return absl::OkStatus();
}

}  // namespace plait
