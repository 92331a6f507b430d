#include "tests/optimizer/rules/laws/draw_instance.h"

#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "optimizer/ops/shared/op_spec.h"

namespace plait {
namespace {

using Ints = std::vector<int64_t>;

// An image's rows and columns are numbers of their own.
bool IsOfPixels(int64_t size) { return size == 7 || size == 9 || size == 11 || size == 13; }

class Drawing {
 public:
  Drawing(const Law& law, Random* random) : source_(law.source), law_(law), random_(*random) {}

  std::optional<Graph> Run() {
    Draw();
    std::vector<TensorId> values(source_.tensor_count(), kNoTensor);
    for (const TensorId input : source_.inputs()) values[input] = AddInput(input);
    for (NodeId id = 0; id < source_.node_count(); ++id) {
      const Node node = NodeFor(id, values);
      const auto types =
          InferTypes(builder_, node, static_cast<int>(source_.node(id).outputs.size()));
      if (!types.ok()) return std::nullopt;
      const auto outputs = builder_.AddNode(node, *types);
      for (size_t i = 0; i < outputs.size(); ++i) values[source_.node(id).outputs[i]] = outputs[i];
      if (!source_.is_output(source_.node(id).outputs[0]) && Chance(5)) {
        builder_.AddOutput(outputs[0]);
      }
    }
    for (const TensorId output : source_.outputs()) builder_.AddOutput(values[output]);
    auto graph = std::move(builder_).Finish();
    if (!graph.ok()) return std::nullopt;
    return *std::move(graph);
  }

 private:
  bool Chance(int percent) { return random_.Integer(0, 99) < percent; }
  Ints Two(int64_t low, int64_t high) {
    return {random_.Integer(low, high), random_.Integer(low, high)};
  }

  void Draw() {
    // Many laws have types only where a window keeps the size.
    keeps_windows_ = Chance(50);
    kernel_ = keeps_windows_ ? Ints{3, 3} : Two(1, 3);
    const auto window = [&] {
      const Ints before = Two(0, 1);
      const Ints after = Two(0, 1);
      return Attributes{{"strides", Two(1, 2)},
                        {"pads", Ints{before[0], before[1], after[0], after[1]}},
                        {"dilations", Two(1, 2)}};
    };
    conv_ = window();
    pool_ = window();
    pool_.Set("kernel_shape", Two(2, 3));
    pool_.Set("count_include_pad", random_.Integer(0, 1));
    constexpr OpKind kFunctions[] = {OpKind::kRelu, OpKind::kTanh, OpKind::kSigmoid, OpKind::kAbs};
    function_ = kFunctions[random_.Integer(0, 3)];
    if (Chance(40)) batch_ = Chance(50) ? Ints{2} : Ints{2, 3};
  }

  int64_t SizeOf(int64_t size, int axis) {
    if (!IsVariableSize(size)) {
      return law_.any_window && size == 3 && axis >= 2 ? kernel_[axis - 2] : size;
    }
    const auto [place, is_new] = sizes_.try_emplace(size, 0);
    if (is_new) place->second = IsOfPixels(size) ? random_.Integer(5, 8) : random_.Integer(1, 5);
    return place->second;
  }

  TensorId AddInput(TensorId input) {
    TensorType type = source_.type(input);
    const bool is_kernel = type.rank() == 4 && !IsVariableSize(type.shape[2]);
    for (int axis = 0; axis < type.rank(); ++axis) {
      type.shape[axis] = SizeOf(type.shape[axis], axis);
    }
    if (type.rank() == 2 && Chance(70)) {
      type.shape.insert(type.shape.begin(), batch_.begin(), batch_.end());
    }
    if (Chance(10)) type.shape[static_cast<size_t>(random_.Integer(0, type.rank() - 1))] = 1;
    if (type.rank() == 2 && Chance(10)) type.shape.erase(type.shape.begin());
    if (!Chance(is_kernel ? 80 : 30)) return builder_.AddInput(type, *source_.tensor(input).name);
    return builder_.AddConstant(Constant::OfSynthetic(type, random_.Next() % 1000));
  }

  Node NodeFor(NodeId id, absl::Span<const TensorId> values) {
    const Node& original = source_.node(id);
    Node node;
    node.op = original.op;
    node.attributes = original.attributes;
    for (const TensorId input : original.inputs) {
      const ConstantRef& constant = source_.tensor(input).constant;
      node.inputs.push_back(constant == nullptr ? values[input] : AddSizes(original, constant));
    }
    const int rank = builder_.tensor(node.inputs[0]).type.rank();
    const int law_rank = source_.input_type(id, 0).rank();
    Attributes attributes = *original.attributes;
    if (attributes.Has("axis")) attributes.Set("axis", attributes.Int("axis", 0) - law_rank);
    if (node.op == OpKind::kTranspose && rank >= 2) {
      Ints perm;
      for (int i = 0; i < rank; ++i) perm.push_back(i);
      std::swap(perm[rank - 2], perm[rank - 1]);
      attributes.Set("perm", perm);
    }
    if (node.op == OpKind::kRelu) node.op = function_;
    if (node.op == OpKind::kConv) AddBias(&node);
    const bool is_free = law_.any_window && !keeps_windows_;
    if (node.op == OpKind::kConv && is_free) attributes = conv_;
    if (node.op == OpKind::kAveragePool && is_free) attributes = pool_;
    node.attributes = MakeAttributes(std::move(attributes));
    return node;
  }

  TensorId AddSizes(const Node& node, const ConstantRef& constant) {
    if (node.op != OpKind::kSplit) return builder_.AddConstant(constant);
    Ints sizes = constant->inline_value()->AsInt64s();
    for (int64_t& size : sizes) size = SizeOf(size, 0);
    return builder_.AddConstant(Constant::OfTensor(Tensor::Int64s(sizes)));
  }

  void AddBias(Node* node) {
    if (!Chance(50)) return;
    const int64_t channels = builder_.tensor(node->inputs[1]).type.shape[0];
    node->inputs.push_back(builder_.AddConstant(
        Constant::OfSynthetic({DataType::kFloat32, {channels}}, random_.Next() % 1000)));
  }

  const Graph& source_;
  const Law& law_;
  Random& random_;
  GraphBuilder builder_;
  std::map<int64_t, int64_t> sizes_;
  Ints batch_;
  bool keeps_windows_ = false;
  Ints kernel_;
  Attributes conv_;
  Attributes pool_;
  OpKind function_ = OpKind::kRelu;
};

}  // namespace

std::optional<Graph> DrawInstance(const Law& law, Random* random) {
  return Drawing(law, random).Run();
}

}  // namespace plait
