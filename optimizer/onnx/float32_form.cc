#include "optimizer/onnx/float32_form.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "base/status_macros.h"
#include "optimizer/ir/graph_copier.h"
#include "optimizer/onnx/fold_node.h"
#include "optimizer/ops/shared/expansion.h"
#include "optimizer/ops/shared/op_spec.h"

namespace plait {
namespace {

bool IsHalf(DataType dtype) { return WideType(dtype) != dtype; }

// A tensor of 16 bits has up to two copies: one as it was, and one in float32. Either is made of
// the other by a Cast when somebody asks for it.
class Widener {
 public:
  explicit Widener(const Graph& graph)
      : graph_(graph),
        copier_(graph, &builder_),
        is_as_it_was_(graph.tensor_count()),
        wide_(graph.tensor_count(), kNoTensor) {
    for (TensorId id = 0; id < graph.tensor_count(); ++id) {
      is_as_it_was_[id] = graph.tensor(id).producer == kNoNode;
    }
  }

  absl::StatusOr<Graph> Run() && {
    for (NodeId id = 0; id < graph_.node_count(); ++id) AddNode(id);
    for (const TensorId output : graph_.outputs()) AsItWas(output);
    copier_.CopyOutputs();
    return std::move(builder_).Finish();
  }

 private:
  bool IsHalfTensor(TensorId id) const { return id != kNoTensor && IsHalf(graph_.type(id).dtype); }

  void AddNode(NodeId id) {
    const Node& node = graph_.node(id);
    const auto is_half = [&](TensorId tensor) { return IsHalfTensor(tensor); };
    const bool reads = std::any_of(node.inputs.begin(), node.inputs.end(), is_half);
    const bool writes = std::any_of(node.outputs.begin(), node.outputs.end(), is_half);
    if ((reads || writes) && node.op == OpKind::kCast) return AddCast(id);
    const bool widens = node.op != OpKind::kOpaque && reads && !(writes && OnlyMoves(node));
    if (!widens || !AddWide(id)) Copy(id);
  }

  // What it was given in 16 bits, and in nothing else.
  bool OnlyMoves(const Node& node) const {
    if (!HasTraits(node.op, kDataMovement) && !HasTraits(node.op, kView)) return false;
    return std::all_of(node.inputs.begin(), node.inputs.end(), [&](TensorId input) {
      return !IsHalfTensor(input) || is_as_it_was_[input];
    });
  }

  void Copy(NodeId id) {
    for (const TensorId input : graph_.node(id).inputs) AsItWas(input);
    copier_.CopyNode(id);
    for (const TensorId output : graph_.node(id).outputs) {
      if (output != kNoTensor) is_as_it_was_[output] = true;
    }
  }

  // A Cast to 16 bits rounds. One from there does nothing more than what its readers ask for, or
  // goes on from float32.
  void AddCast(NodeId id) {
    const Node& node = graph_.node(id);
    const TensorId input = node.inputs[0];
    const TensorId output = node.outputs[0];
    const DataType from = graph_.type(input).dtype;
    const DataType to = graph_.type(output).dtype;
    const TensorId wide = IsHalf(from) || !IsFloat(from) ? Wide(input) : kNoTensor;
    // Two outputs of the graph may not be one tensor, which has one name only.
    if (to == DataType::kFloat32 && wide != kNoTensor &&
        (!graph_.is_output(output) || outputs_.insert(wide).second)) {
      return copier_.Set(output, wide);
    }
    Node cast = copier_.Detached(id);
    if (wide != kNoTensor) cast.inputs = {wide};
    copier_.CopyNodeAs(id, std::move(cast));
    is_as_it_was_[output] = true;
  }

  // The node over float32. False where its operator does not take that.
  bool AddWide(NodeId id) {
    const Node& node = graph_.node(id);
    Node wide = node;
    wide.outputs.clear();
    for (TensorId& input : wide.inputs) {
      input = IsHalfTensor(input) ? Wide(input) : copier_.TensorOf(input);
    }
    if (IsHalf(static_cast<DataType>(node.attributes->Int("output_dtype", 0)))) {
      Attributes attributes = *node.attributes;
      attributes.Set("output_dtype", static_cast<int64_t>(DataType::kFloat32));
      wide.attributes = MakeAttributes(std::move(attributes));
    }
    const auto types = InferTypes(builder_, wide, static_cast<int>(node.outputs.size()));
    if (!types.ok()) return false;
    const auto omitted = std::make_unique<bool[]>(node.outputs.size());
    std::vector<std::string> names;
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const TensorId output = node.outputs[i];
      omitted[i] = output == kNoTensor;
      names.push_back(omitted[i] ? "" : *graph_.tensor(output).name);
      if (!omitted[i] && (*types)[i].dtype != WideType(graph_.type(output).dtype)) return false;
    }
    const std::vector<TensorId> outputs = builder_.AddNode(
        std::move(wide), *types, names, absl::MakeConstSpan(omitted.get(), node.outputs.size()));
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const TensorId output = node.outputs[i];
      if (IsHalfTensor(output)) {
        wide_[output] = outputs[i];
      } else if (output != kNoTensor) {
        copier_.Set(output, outputs[i]);
      }
    }
    return true;
  }

  // The tensor in float32: of 16 bits, or of integers that are cast.
  TensorId Wide(TensorId id) {
    if (wide_[id] == kNoTensor) wide_[id] = CastTo(copier_.TensorOf(id), DataType::kFloat32);
    return wide_[id];
  }

  void AsItWas(TensorId id) {
    if (!IsHalfTensor(id) || is_as_it_was_[id]) return;
    copier_.Exchange(id, CastTo(wide_[id], graph_.type(id).dtype));
    is_as_it_was_[id] = true;
  }

  TensorId CastTo(TensorId tensor, DataType dtype) {
    Node cast;
    cast.op = OpKind::kCast;
    cast.attributes = MakeAttributes({{"to", static_cast<int64_t>(dtype)}});
    cast.inputs = {tensor};
    const std::vector<TensorType> types = {{dtype, builder_.tensor(tensor).type.shape}};
    if (const auto constants = FoldNode(builder_, cast, types)) {
      return builder_.AddConstant(constants->front());
    }
    return builder_.AddNode(std::move(cast), types)[0];
  }

  const Graph& graph_;
  GraphBuilder builder_;
  GraphCopier copier_;
  std::vector<bool> is_as_it_was_;  // by tensor: whether the copier has it
  std::vector<TensorId> wide_;      // by tensor: in float32; kNoTensor: nobody has asked for it
  absl::flat_hash_set<TensorId> outputs_;  // in float32, that are outputs of the graph
};

}  // namespace

absl::StatusOr<Graph> Float32Form(const Graph& graph) {
  for (TensorId id = 0; id < graph.tensor_count(); ++id) {
    if (IsHalf(graph.type(id).dtype)) return Widener(graph).Run();
  }
  return graph;
}

}  // namespace plait
