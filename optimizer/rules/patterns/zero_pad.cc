#include "optimizer/rules/patterns/zero_pad.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "optimizer/rules/patterns/conv_view.h"
#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/patterns/reasons.h"

namespace plait {
namespace {

// The zeros above, left of, below and right of the images; nullopt when it pads otherwise.
std::optional<std::vector<int64_t>> ZerosOf(const Graph& graph, NodeId pad) {
  if (graph.node(pad).attributes->String("mode", "constant") != "constant") return std::nullopt;
  if (InputOr(graph, pad, 2) != kNoTensor && ScalarAt(graph, pad, 2) != 0.0) return std::nullopt;
  if (InputOr(graph, pad, 3) != kNoTensor) return std::nullopt;  // a list of axes
  const auto pads = IntsAt(graph, pad, 1);  // begin of N, C, H, W, then end of N, C, H, W
  if (!pads || pads->size() != 8) return std::nullopt;
  const auto& p = *pads;
  if (p[0] != 0 || p[1] != 0 || p[4] != 0 || p[5] != 0) return std::nullopt;
  if (std::any_of(p.begin(), p.end(), [](int64_t size) { return size < 0; })) return std::nullopt;
  return std::vector<int64_t>{p[2], p[3], p[6], p[7]};
}

// Pads of a node that reads zeros there: of a convolution, or of a mean over whole windows, padding
// included.
std::optional<std::vector<int64_t>> OwnZeros(const Graph& graph, NodeId node) {
  if (const auto conv = ViewConv(graph, node)) return conv->pads;
  if (graph.node(node).op != OpKind::kAveragePool) return std::nullopt;
  const Attributes& attributes = *graph.node(node).attributes;
  const std::vector<int64_t> pads = attributes.Ints("pads", {0, 0, 0, 0});
  const bool has_pads =
      std::any_of(pads.begin(), pads.end(), [](int64_t size) { return size > 0; });
  if (has_pads && attributes.Int("count_include_pad", 0) == 0) return std::nullopt;
  if (attributes.Int("ceil_mode", 0) != 0) return std::nullopt;  // windows that hang over
  return pads;
}

// The reader's own pads with `zeros` around them; nullopt when it cannot pad with so many zeros.
std::optional<std::vector<int64_t>> PadsWith(const std::vector<int64_t>& zeros, const Graph& graph,
                                             NodeId reader) {
  std::optional<std::vector<int64_t>> pads = OwnZeros(graph, reader);
  if (!pads) return std::nullopt;
  const bool is_pool = graph.node(reader).op == OpKind::kAveragePool;
  const std::vector<int64_t> kernel = graph.node(reader).attributes->Ints("kernel_shape");
  for (size_t i = 0; i < pads->size(); ++i) {
    (*pads)[i] += zeros[i];
    // Pads of pools are smaller than the kernel.
    if (is_pool && (*pads)[i] >= kernel[i % 2]) return std::nullopt;
  }
  return pads;
}

}  // namespace

std::optional<TakenPad> TakePad(const Graph& graph, NodeId node, Misses misses) {
  const NodeId pad = ProducerOf(graph, node, 0, OpKind::kPad);
  if (pad == kNoNode) return std::nullopt;
  const auto miss = [&](absl::string_view what) {
    return misses.Because([&] { return absl::StrCat(NodeText(graph, pad), what); });
  };
  const auto zeros = ZerosOf(graph, pad);
  if (!zeros) return miss(" does not surround images with zeros, of height and width alone");
  const auto takes = [&](NodeId reader) { return PadsWith(*zeros, graph, reader).has_value(); };
  if (!IsReadOnlyBy(graph, graph.node(pad).outputs[0], takes)) {
    return miss(" is read where so many zeros cannot be read in its place");
  }
  return TakenPad{graph.node(pad).inputs[0], *PadsWith(*zeros, graph, node)};
}

}  // namespace plait
