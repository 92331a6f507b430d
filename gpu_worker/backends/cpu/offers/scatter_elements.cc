#include <limits>

#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/offers/worth_dividing.h"
#include "gpu_worker/backends/groups/format_rows.h"
#include "gpu_worker/backends/groups/node_checks.h"

namespace plait {
namespace {

// What only replaces need not be understood; other updates are numbered in int32, but for those of
// float32.
bool RunsScatterElements(const Graph& graph, NodeId node) {
  if (!IsOneOf(graph, node, {OpKind::kScatterElements})) return false;
  const TensorType& indices = graph.input_type(node, 1);
  const DataType dtype = graph.input_type(node, 0).dtype;
  const bool replaces = graph.node(node).attributes->String("reduction", "none") == "none";
  const bool meets =
      dtype == DataType::kFloat32 || ((IsFloat(dtype) || IsInteger(dtype)) &&
                                      indices.elements() <= std::numeric_limits<int32_t>::max());
  return IsMovable(graph, node) &&
         (indices.dtype == DataType::kInt64 || indices.dtype == DataType::kInt32) &&
         indices.elements() > 0 && (replaces || meets);
}

}  // namespace

const FamilyOffer kScatterElementsOffer = {
    .name = "scatter_elements",
    .runs = RunsScatterElements,
    .formats = PlainRow,
    .worth_dividing = HasManyElements,
};

}  // namespace plait
