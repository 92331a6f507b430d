#include "server/search_child/host_segments.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "optimizer/onnx/opaque_node.h"
#include "optimizer/search/segments.h"
#include "proto/wire/error.h"

namespace plait {
namespace {

// A message that travels with each look at the job.
constexpr int kSegmentsToldMax = 256;
constexpr int kOperatorsToldMax = 64;

// The name by which binding calls the node.
std::string LabelOf(const Graph& graph, const Node& node, const onnx::NodeProto& proto) {
  if (node.name != nullptr && !node.name->empty()) return *node.name;
  const TensorId output = node.outputs.empty() ? kNoTensor : node.outputs[0];
  return absl::StrCat(proto.op_type(), " of '",
                      output == kNoTensor ? "" : *graph.tensor(output).name, "'");
}

std::string OperatorOf(const onnx::NodeProto& proto) {
  const std::string& domain = proto.domain();
  return domain.empty() ? proto.op_type() : absl::StrCat(domain, ".", proto.op_type());
}

void AddNode(const Graph& graph, const Node& node, absl::Span<const OpaqueNode> opaque_nodes,
             v1::HostSegment* segment) {
  const absl::StatusOr<onnx::NodeProto> proto = ReadOpaqueNode(node);
  if (!proto.ok()) return;
  const std::string name = wire::ValidUtf8(OperatorOf(*proto), kNameBytesMax);
  auto& operators = *segment->mutable_operators();
  const bool is_new = std::find(operators.begin(), operators.end(), name) == operators.end();
  if (is_new && operators.size() < kOperatorsToldMax) segment->add_operators(name);
  if (!segment->reason().empty()) return;
  const std::string label = LabelOf(graph, node, *proto);
  for (const OpaqueNode& opaque : opaque_nodes) {
    if (opaque.name != label) continue;
    segment->set_reason(wire::ValidUtf8(opaque.reason, kNameBytesMax));
    return;
  }
}

}  // namespace

void AddHostSegments(const Graph& graph, absl::Span<const OpaqueNode> opaque_nodes,
                     v1::ModelReport* report) {
  for (const Segment& segment : SegmentsOf(graph)) {
    if (!segment.is_host || report->host_segments_size() == kSegmentsToldMax) continue;
    v1::HostSegment& told = *report->add_host_segments();
    told.set_nodes(static_cast<int64_t>(segment.region.nodes.size()));
    for (const NodeId node : segment.region.nodes) {
      AddNode(graph, graph.node(node), opaque_nodes, &told);
    }
  }
}

}  // namespace plait
