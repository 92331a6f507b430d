#include "gpu_worker/executor/lone_layer.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/kernels/format_rules.h"
#include "optimizer/ops/evaluation/evaluate.h"

namespace plait {
namespace {

// Constants by input of the node; null ones are omitted or no constants.
absl::StatusOr<Graph> LoneGraph(const Graph& graph, NodeId id,
                                absl::Span<const ConstantRef> constants) {
  GraphBuilder builder;
  const Node& node = graph.node(id);
  const std::vector<TensorId> read = InputsOf(graph, {id});
  std::vector<TensorId> inputs;
  for (const TensorId tensor : read) {
    inputs.push_back(builder.AddInput(graph.type(tensor), absl::StrCat("i", inputs.size())));
  }
  Node copy{.op = node.op, .attributes = node.attributes, .inputs = {}, .outputs = {}};
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    TensorId input = kNoTensor;
    if (constants[i] != nullptr) {
      input = builder.AddConstant(constants[i]);
    } else if (node.inputs[i] != kNoTensor) {
      const auto found = std::find(read.begin(), read.end(), node.inputs[i]);
      input = inputs[found - read.begin()];
    }
    copy.inputs.push_back(input);
  }
  builder.AddOutput(builder.AddNode(std::move(copy), {graph.output_type(id)})[0]);
  return std::move(builder).Finish();
}

std::vector<ConstantRef> ConstantsOf(const Graph& graph, NodeId id) {
  std::vector<ConstantRef> constants;
  for (const TensorId input : graph.node(id).inputs) {
    constants.push_back(input == kNoTensor ? nullptr : graph.tensor(input).constant);
  }
  return constants;
}

// What the node reads comes first among what the kernel does.
Kernel KernelAlone(const Graph& lone, const Kernel& kernel) {
  Kernel alone = kernel;
  alone.nodes = {0};
  alone.input_formats.resize(lone.inputs().size());
  // Of what the whole kernel writes, which may be of another type.
  alone.output_formats = {EffectiveFormat(lone.output_type(0), kernel.output_formats.front())};
  return alone;
}

}  // namespace

absl::Status CheckIsLayer(const Graph& graph, const Kernel& kernel) {
  if (kernel.nodes.empty()) return absl::InvalidArgumentError("a reorder is no layer");
  const NodeId id = kernel.nodes.front();
  const absl::string_view op = OpKindName(graph.node(id).op);
  if (!IsLayer(graph, id)) {
    return absl::InvalidArgumentError(absl::StrCat(op, " is no convolution or product of float32"));
  }
  if (graph.constant(id, 0) != nullptr || graph.constant(id, 1) == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat(op, " has no constant weights for a variable input"));
  }
  return absl::OkStatus();
}

absl::StatusOr<LoneLayer> LoneLayer::Create(const Graph& graph, const Kernel& kernel,
                                            const WeightSource& weights) {
  PLAIT_RETURN_IF_ERROR(CheckIsLayer(graph, kernel));
  const NodeId id = kernel.nodes.front();
  const std::vector<ConstantRef> constants = ConstantsOf(graph, id);
  LoneLayer layer;
  PLAIT_ASSIGN_OR_RETURN(layer.graph_, LoneGraph(graph, id, constants));
  PLAIT_ASSIGN_OR_RETURN(layer.operands_, LayerOperands::Create(layer.graph_));
  layer.kernel_ = KernelAlone(layer.graph_, kernel);
  layer.constants_.resize(constants.size());
  for (size_t i = 0; i < constants.size(); ++i) {
    if (constants[i] == nullptr) continue;
    PLAIT_ASSIGN_OR_RETURN(layer.constants_[i], EvaluateConstant(*constants[i], weights));
  }
  return layer;
}

absl::StatusOr<LoneLayer> LoneLayer::WithWeights(Tensor weights) const {
  LoneLayer layer = *this;
  std::vector<ConstantRef> constants = ConstantsOf(graph_, 0);
  constants[1] = Constant::OfTensor(weights);
  PLAIT_ASSIGN_OR_RETURN(layer.graph_, LoneGraph(graph_, 0, constants));
  layer.constants_[1] = std::move(weights);
  return layer;
}

absl::StatusOr<std::unique_ptr<Executable>> LoneLayer::Load(Executor& executor,
                                                            const WeightSource& weights) const {
  return executor.LoadKernel(graph_, kernel_, weights);
}

std::vector<const Tensor*> LoneLayer::Arguments(absl::Span<const Tensor> inputs) const {
  const Node& node = graph_.node(0);
  std::vector<const Tensor*> arguments;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const Tensor* argument = nullptr;
    if (constants_[i].type().known()) {
      argument = &constants_[i];
    } else if (node.inputs[i] != kNoTensor) {
      argument = &inputs[node.inputs[i]];
    }
    arguments.push_back(argument);
  }
  return arguments;
}

}  // namespace plait
