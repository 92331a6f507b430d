#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/offers/worth_dividing.h"
#include "gpu_worker/backends/groups/epilogue.h"
#include "gpu_worker/backends/groups/format_rows.h"
#include "gpu_worker/backends/groups/node_checks.h"

namespace plait {
namespace {

bool RunsConv(const Graph& graph, NodeId node) {
  if (!IsOneOf(graph, node, {OpKind::kConv})) return false;
  const int rank = graph.input_type(node, 0).rank();
  return AllFloat32(graph, node) && HasExplicitPadding(graph.node(node)) && rank >= 3 && rank <= 5;
}

// Weights that arrive at run time are read row-major. Rows are kept even where all tensors lie
// alike in both: a convolution of one pixel reads and writes the same bytes, yet by other code.
std::vector<FormatRow> FormatsOfConv(const Graph& graph, absl::Span<const NodeId> nodes) {
  const NodeId root = nodes.front();
  const bool packs = graph.tensor(graph.node(root).inputs[1]).constant != nullptr;
  if (!packs || !IsSpatial(graph, root)) return PlainRow(graph, nodes);
  std::vector<FormatRow> rows;
  // oneDNN's row-major convolution applies what follows in a pass of its own, or worse.
  if (nodes.size() == 1) rows.push_back(RowIn(graph, nodes, Format::kPlain));
  rows.push_back(RowIn(graph, nodes, Format::kChannelsLast));
  return rows;
}

// Row-major convolutions copy into the order that they compute in, and back.
double ExpectedConvShare(const Kernel& kernel) {
  return kernel.output_formats[0] == Format::kPlain ? 0.3 : 0.7;
}

}  // namespace

const FamilyOffer kConvOffer = {
    .name = "conv",
    .runs = RunsConv,
    .grow = GrowBehind<RunsConv>,
    .formats = FormatsOfConv,
    .variants = NameOfFormat,
    .expected_share = ExpectedConvShare,
    .worth_dividing = HasManyFlops,
};

}  // namespace plait
