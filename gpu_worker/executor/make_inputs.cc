#include "gpu_worker/executor/make_inputs.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/random.h"
#include "optimizer/ops/shared/axes.h"
#include "optimizer/ops/shared/op_spec.h"

namespace plait {
namespace {

// Vocabularies are larger; a thousand values are enough to read different rows.
constexpr int64_t kIndexMax = 1000;

// The smallest axis that the tensor's values index, directly or through views and casts; two when
// they index nothing: integers of unknown meaning are often flags.
int64_t IndexedSize(const Graph& graph, TensorId tensor) {
  int64_t size = kIndexMax;
  bool indexes = false;
  std::vector<TensorId> pending = {tensor};
  absl::flat_hash_set<TensorId> seen = {tensor};
  while (!pending.empty()) {
    const TensorId current = pending.back();
    pending.pop_back();
    for (const NodeId user : graph.users(current)) {
      const Node& node = graph.node(user);
      if (node.op == OpKind::kGather && node.inputs[1] == current) {
        const Shape& shape = graph.input_type(user, 0).shape;
        const int64_t axis = NormalAxis(node.attributes->Int("axis", 0), shape.size());
        size = std::min(size, shape[axis]);
        indexes = true;
      }
      const bool passes = node.op == OpKind::kCast || HasTraits(node.op, kView);
      if (passes && node.inputs[0] == current && seen.insert(node.outputs[0]).second) {
        pending.push_back(node.outputs[0]);
      }
    }
  }
  return indexes ? size : 2;
}

// A mask of ones lets everything pass: with random zeros whole rows of attention might be masked.
Tensor MakeInput(const Graph& graph, TensorId id, Random* random) {
  const TensorInfo& info = graph.tensor(id);
  const int64_t elements = info.type.elements();
  const bool is_mask = absl::StrContains(absl::AsciiStrToLower(*info.name), "mask");
  if (IsFloat(info.type.dtype)) {
    std::vector<double> values(static_cast<size_t>(elements), 1.0);
    for (double& value : values) value = is_mask ? 1.0 : random->Uniform(-1, 1);
    return Tensor::FromDoubles(info.type, values);
  }
  const int64_t size =
      std::max<int64_t>(1, info.type.dtype == DataType::kBool ? 2 : IndexedSize(graph, id));
  std::vector<int64_t> values(static_cast<size_t>(elements), 1);
  for (int64_t& value : values) value = is_mask ? 1 : random->Integer(0, size - 1);
  // Index 0 everywhere would be all zeros.
  if (!is_mask && size > 1 && elements > 0) values[0] = 1;
  return Tensor::FromInt64s(info.type, values);
}

}  // namespace

absl::StatusOr<std::vector<Tensor>> MakeInputs(const Graph& graph, uint64_t seed) {
  Random random(seed);
  std::vector<Tensor> inputs;
  for (const TensorId id : graph.inputs()) {
    const TensorInfo& info = graph.tensor(id);
    const bool numeric = IsFloat(info.type.dtype) || IsInteger(info.type.dtype) ||
                         info.type.dtype == DataType::kBool;
    if (!numeric) {
      return absl::UnimplementedError(
          absl::StrCat("input ", *info.name, ": no random values of type ", info.type.ToString()));
    }
    inputs.push_back(MakeInput(graph, id, &random));
  }
  return inputs;
}

}  // namespace plait
