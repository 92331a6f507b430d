#include "optimizer/plan/loaded_bytes.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "optimizer/ops/shared/axes.h"

namespace plait {
namespace {

// Of the constants, which lie outside of an arena.
int64_t ConstantBytes(const Graph& graph) {
  int64_t bytes = 0;
  for (const TensorInfo& tensor : graph.tensors()) {
    if (tensor.constant != nullptr) bytes = SaturatingAdd(bytes, tensor.type.bytes());
  }
  return bytes;
}

// Of different tensors of one node's inputs or outputs, and of those in an arena only or of all.
int64_t BytesOf(const Graph& graph, absl::Span<const TensorId> tensors, bool in_arena_only) {
  int64_t bytes = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const TensorId id = tensors[i];
    const auto first = std::find(tensors.begin(), tensors.end(), id) - tensors.begin();
    if (id == kNoTensor || static_cast<size_t>(first) != i) continue;
    const bool in_arena = graph.tensor(id).producer != kNoNode && !graph.is_output(id);
    if (in_arena || !in_arena_only) bytes = SaturatingAdd(bytes, graph.type(id).bytes());
  }
  return bytes;
}

}  // namespace

int64_t PortBytes(const Graph& graph) {
  int64_t bytes = 0;
  for (const TensorId input : graph.inputs()) {
    bytes = SaturatingAdd(bytes, graph.type(input).bytes());
  }
  for (const TensorId output : graph.outputs()) {
    bytes = SaturatingAdd(bytes, graph.type(output).bytes());
  }
  return bytes;
}

int64_t LoadedBytes(const Graph& graph, const Plan& plan) {
  return SaturatingAdd(plan.arena_bytes, SaturatingAdd(PortBytes(graph), ConstantBytes(graph)));
}

// A view's result lies where its argument does, so the two are not added.
int64_t LeastLoadedBytes(const Graph& graph) {
  bool has_opaque_nodes = false;
  int64_t arena_bytes = 0;
  int64_t node_bytes = 0;
  for (const Node& node : graph.nodes()) {
    if (node.op == OpKind::kOpaque) {
      has_opaque_nodes = true;
      continue;
    }
    for (const absl::Span<const TensorId> side :
         {absl::MakeConstSpan(node.inputs), absl::MakeConstSpan(node.outputs)}) {
      arena_bytes = std::max(arena_bytes, BytesOf(graph, side, /*in_arena_only=*/true));
      node_bytes = std::max(node_bytes, BytesOf(graph, side, /*in_arena_only=*/false));
    }
  }
  if (has_opaque_nodes) return node_bytes;
  return SaturatingAdd(arena_bytes, SaturatingAdd(PortBytes(graph), ConstantBytes(graph)));
}

absl::Status CheckMemory(absl::string_view what, int64_t bytes, const DeviceDescription& device) {
  if (bytes <= device.memory_bytes) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(what, ": needs ", bytes,
                                                   " bytes of memory, device ", device.id, " has ",
                                                   device.memory_bytes));
}

}  // namespace plait
