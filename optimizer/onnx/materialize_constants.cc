#include "optimizer/onnx/materialize_constants.h"

#include <utility>
#include <variant>

#include "absl/container/flat_hash_map.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "optimizer/ir/graph_copier.h"
#include "optimizer/ops/evaluation/evaluate.h"

namespace plait {

namespace {

// Computed weights in front of given ones. Constant once MaterializeConstants has returned it.
class ComputedWeights : public WeightSource {
 public:
  explicit ComputedWeights(const WeightSource& given) : given_(given) {}

  void Add(const Digest& digest, Tensor value) { computed_.emplace(digest, std::move(value)); }

  absl::StatusOr<Tensor> Get(const Digest& digest, const TensorType& type) const override {
    const auto found = computed_.find(digest);
    if (found != computed_.end() && found->second.type() == type) return found->second;
    return given_.Get(digest, type);
  }

 private:
  const WeightSource& given_;
  absl::flat_hash_map<Digest, Tensor> computed_;
};

}  // namespace

absl::StatusOr<Materialized> MaterializeConstants(const Graph& graph, const WeightSource& weights) {
  auto computed = std::make_shared<ComputedWeights>(weights);
  GraphBuilder builder;
  GraphCopier copier(graph, &builder);
  for (TensorId id = 0; id < graph.tensor_count(); ++id) {
    const ConstantRef& constant = graph.tensor(id).constant;
    if (constant == nullptr || std::holds_alternative<Constant::Weight>(constant->value()) ||
        constant->inline_value() != nullptr) {
      continue;
    }
    absl::StatusOr<Tensor> value = EvaluateConstant(*constant, weights);
    if (!value.ok()) return Annotate(value.status(), *graph.tensor(id).name);
    if (value->type().bytes() <= kInlineConstantBytesMax) {
      copier.Exchange(id, builder.AddConstant(Constant::OfTensor(*std::move(value))));
      continue;
    }
    // Named by content like any weight, so that export writes it and a runtime finds it.
    const Digest digest = DigestOf(value->bytes());
    copier.Exchange(id, builder.AddConstant(Constant::OfWeight(value->type(), digest)));
    computed->Add(digest, *std::move(value));
  }
  for (NodeId id = 0; id < graph.node_count(); ++id) copier.CopyNode(id);
  copier.CopyOutputs();
  PLAIT_ASSIGN_OR_RETURN(Graph materialized, std::move(builder).Finish());
  return Materialized{std::move(materialized), std::move(computed)};
}

}  // namespace plait
