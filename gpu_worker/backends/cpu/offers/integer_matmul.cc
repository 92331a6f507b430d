#include <algorithm>

#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/offers/integer_bounds.h"
#include "gpu_worker/backends/cpu/offers/worth_dividing.h"
#include "gpu_worker/backends/groups/format_rows.h"
#include "gpu_worker/backends/groups/integer_checks.h"
#include "gpu_worker/backends/groups/node_checks.h"

namespace plait {
namespace {

// One matrix on the right, or one for each on the left.
bool HasMatchingBatch(const Shape& left, const Shape& right) {
  if (left.size() < 2 || right.size() < 2) return false;
  return right.size() == 2 ||
         (left.size() == right.size() && std::equal(left.begin(), left.end() - 2, right.begin()));
}

// The left side has one scale and zero point, the right side may have one of each column.
bool RunsIntegerMatmul(const Graph& graph, NodeId node) {
  if (!IsOneOf(graph, node, {OpKind::kMatMulInteger, OpKind::kQLinearMatMul})) return false;
  const Node& n = graph.node(node);
  const bool has_scales = n.op == OpKind::kQLinearMatMul;
  const size_t right = has_scales ? 3 : 1;
  const Shape& a = graph.input_type(node, 0).shape;
  const Shape& b = graph.input_type(node, static_cast<int>(right)).shape;
  if (!HasMatchingBatch(a, b) || ElementsOf(a) == 0 || ElementsOf(b) == 0) return false;
  if (!has_scales) {
    return HasAtMostOne(graph, n, 2) && HasOneOrEach(graph, n, 3, b.back());
  }
  for (const int scale : {1, 4, 6}) {
    if (graph.input_type(node, scale).dtype != DataType::kFloat32) return false;
  }
  return HasAtMostOne(graph, n, 1) && HasAtMostOne(graph, n, 2) &&
         HasOneOrEach(graph, n, 4, b.back()) && HasOneOrEach(graph, n, 5, b.back()) &&
         HasAtMostOne(graph, n, 6) && HasAtMostOne(graph, n, 7);
}

}  // namespace

const FamilyOffer kIntegerMatmulOffer = {
    .name = "integer_matmul",
    .runs = RunsIntegerMatmul,
    .grow = GrowBounds<RunsIntegerMatmul>,
    .formats = PlainRow,
    .worth_dividing = HasManyFlops,
};

}  // namespace plait
