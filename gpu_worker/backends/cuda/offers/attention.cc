#include <utility>

#include "gpu_worker/backends/cuda/offers/cuda_family.h"
#include "gpu_worker/backends/cuda/offers/operands.h"
#include "gpu_worker/backends/groups/attention_pattern.h"

// Heads are read where they lie. In BERT the queries of 12 heads are [1, 128, 768] behind a
// product, of which the problem's [1, 12, 128, 64] has strides 98304, 64, 768 and 1.

namespace plait::cuda {
namespace {

// Matrices as [batch, heads, rows, columns].
struct Heads {
  std::array<int64_t, 4> sizes = {1, 1, 1, 1};
  AttentionProblem::Strides strides = {0, 0, 0, 0};
};

// Axes of one element in front are left out. nullopt: there are more than two others.
std::optional<Heads> HeadsOf(const StridedView& view) {
  const size_t rank = view.shape.size();
  if (rank < 2) return std::nullopt;
  Heads heads;
  int place = 3;
  for (size_t axis = rank; axis-- > 0;) {
    if (axis + 2 < rank && view.shape[axis] == 1) continue;
    if (place < 0 || view.strides[axis] < 0) return std::nullopt;
    heads.sizes[place] = view.shape[axis];
    heads.strides[place] = view.strides[axis];
    --place;
  }
  return heads;
}

// Leading axes of one element stand for the batch where others have one: of [12, 128, 64] the 12
// are heads.
std::optional<OperandValue> Operand(const Graph& graph,
                                    const AttentionPattern::Matrices& matrices) {
  OperandValue operand = OperandOf(graph, matrices.tensor);
  operand.offset = matrices.view.offset;
  if (operand.offset < 0) return std::nullopt;
  return operand;
}

// nullopt where the strides are those of a dense tensor.
std::optional<AttentionProblem::Strides> Given(const Heads& heads) {
  int64_t dense = 1;
  bool is_dense = true;
  for (int d = 3; d >= 0; --d) {
    is_dense = is_dense && (heads.sizes[d] == 1 || heads.strides[d] == dense);
    dense *= heads.sizes[d];
  }
  if (is_dense) return std::nullopt;
  AttentionProblem::Strides strides = heads.strides;
  for (int d = 0; d < 4; ++d) {
    if (heads.sizes[d] == 1) strides[d] = 0;
  }
  return strides;
}

// Sizes along which the mask repeats have a stride of 0; along the others it is dense.
bool ReadMask(const Graph& graph, const AttentionPattern& pattern, AttentionProblem* problem,
              KernelProblem* result) {
  if (pattern.masks.empty()) return true;
  if (pattern.masks.size() > 1 || pattern.hides_masked_rows) return false;
  const std::optional<Heads> mask = HeadsOf(pattern.masks[0].view);
  const std::optional<OperandValue> operand = Operand(graph, pattern.masks[0]);
  if (!mask.has_value() || !operand.has_value() || mask->sizes[3] != problem->keys) return false;
  const auto differs = [&](int d) { return mask->sizes[d] > 1 && mask->strides[d] != 0; };
  problem->mask = true;
  problem->mask_batch = differs(0);
  problem->mask_heads = differs(1);
  problem->mask_query = differs(2);
  int64_t dense = 1;
  for (int d = 3; d >= 0; --d) {
    if (d < 3 && !differs(d)) continue;
    if (mask->sizes[d] > 1 && mask->strides[d] != dense) return false;
    dense *= mask->sizes[d];
  }
  result->inputs.push_back(*operand);
  return true;
}

std::optional<KernelProblem> ProblemOfAttention(const Graph& graph, const Kernel& kernel) {
  if (LayoutOf(graph, kernel) != MemoryLayout::kNchw) return std::nullopt;
  const std::optional<AttentionPattern> pattern = ParseAttention(graph, kernel.nodes);
  if (!pattern.has_value()) return std::nullopt;
  const std::optional<Heads> query = HeadsOf(pattern->query.view);
  const std::optional<Heads> key = HeadsOf(pattern->key.view);
  const std::optional<Heads> value = HeadsOf(pattern->value.view);
  const std::optional<Heads> output = HeadsOf(pattern->result.view);
  if (!query || !key || !value || !output) return std::nullopt;
  if (value->sizes != key->sizes || output->sizes != query->sizes ||
      key->sizes[0] != query->sizes[0] || key->sizes[1] != query->sizes[1] ||
      key->sizes[3] != query->sizes[3]) {
    return std::nullopt;
  }
  KernelProblem problem;
  for (const AttentionPattern::Matrices* matrices :
       {&pattern->query, &pattern->key, &pattern->value}) {
    const std::optional<OperandValue> operand = Operand(graph, *matrices);
    if (!operand.has_value()) return std::nullopt;
    problem.inputs.push_back(*operand);
  }
  AttentionProblem attention{.batch = query->sizes[0],
                             .heads = query->sizes[1],
                             .query = query->sizes[2],
                             .keys = key->sizes[2],
                             .dim = query->sizes[3],
                             .scale = pattern->scale,
                             .query_strides = Given(*query),
                             .key_strides = Given(*key),
                             .value_strides = Given(*value),
                             .result_strides = Given(*output)};
  if (pattern->result.view.offset != 0) return std::nullopt;
  if (!ReadMask(graph, *pattern, &attention, &problem)) return std::nullopt;
  problem.problem = attention;
  return problem;
}

std::vector<std::vector<NodeId>> GroupsOfAttention(const Graph& graph, NodeId node) {
  std::vector<NodeId> group = GrowAttention(graph, node);
  if (group.empty()) return {};
  return {std::move(group)};
}

}  // namespace

const CudaFamily kAttentionFamily = {
    .name = "attention",
    .groups = GroupsOfAttention,
    .rows = PlainRow,
    .problem = ProblemOfAttention,
    .multiplies = true,
};

}  // namespace plait::cuda
