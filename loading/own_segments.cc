#include "loading/own_segments.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "loading/host_nodes/host_node.h"
#include "optimizer/onnx/export.h"
#include "optimizer/onnx/import.h"
#include "optimizer/onnx/messages/node_label.h"
#include "optimizer/onnx/opaque_node.h"
#include "optimizer/onnx/subgraph_model.h"
#include "optimizer/ops/evaluation/evaluate.h"

namespace plait {
namespace {

// Looks at bytes that outlive the run.
Tensor Seen(const HostTensor& value) {
  return Tensor(value.type,
                absl::string_view(reinterpret_cast<const char*>(value.data),
                                  static_cast<size_t>(value.type.bytes())),
                nullptr);
}

// Keeps what the last run gave, as long as others read it.
class OwnSegment : public HostSegment {
 public:
  DataType OutputType(size_t index) const override {
    return index < types_.size() ? types_[index] : DataType::kUndefined;
  }

  absl::Status Run(absl::Span<const HostTensor> inputs, absl::Span<HostTensor> outputs) override {
    std::vector<Tensor> given;
    given.reserve(inputs.size());
    for (const HostTensor& input : inputs) given.push_back(Seen(input));
    PLAIT_ASSIGN_OR_RETURN(results_, Compute(given));
    types_.clear();
    for (size_t i = 0; i < outputs.size(); ++i) {
      const Tensor& result = results_[i];
      outputs[i] = {result.type(), reinterpret_cast<const std::byte*>(result.bytes().data())};
      types_.push_back(result.type().dtype);
    }
    return absl::OkStatus();
  }

 private:
  // As many results as the segment has outputs.
  virtual absl::StatusOr<std::vector<Tensor>> Compute(absl::Span<const Tensor> inputs) = 0;

  std::vector<Tensor> results_;
  std::vector<DataType> types_;
};

class LateSegment : public OwnSegment {
 public:
  explicit LateSegment(LateModel model) : model_(std::move(model)) {}

 private:
  absl::StatusOr<std::vector<Tensor>> Compute(absl::Span<const Tensor> inputs) override {
    return model_.Run(inputs);
  }

  LateModel model_;
};

class Body : public HostBody {
 public:
  explicit Body(LateModel model) : model_(std::move(model)) {}

  absl::StatusOr<std::vector<Tensor>> Run(absl::Span<const Tensor> inputs) override {
    return model_.Run(inputs);
  }

 private:
  LateModel model_;
};

// What a node reads: a value of the segment's inputs, or one that is known.
struct Argument {
  int input = -1;
  Tensor value;  // of no type: omitted, or a constant that a subgraph has
};

class NodeSegment : public OwnSegment {
 public:
  NodeSegment(HostOperator compute, std::string label, std::vector<Argument> arguments,
              std::vector<size_t> outputs)
      : compute_(std::move(compute)),
        label_(std::move(label)),
        arguments_(std::move(arguments)),
        outputs_(std::move(outputs)) {}

 private:
  absl::StatusOr<std::vector<Tensor>> Compute(absl::Span<const Tensor> inputs) override {
    std::vector<Tensor> given;
    given.reserve(arguments_.size());
    for (const Argument& argument : arguments_) {
      given.push_back(argument.input < 0 ? argument.value : inputs[argument.input]);
    }
    absl::StatusOr<std::vector<Tensor>> all = compute_(given);
    if (!all.ok()) return Annotate(all.status(), label_);
    std::vector<Tensor> results;
    for (const size_t output : outputs_) {
      if (output >= all->size()) {
        return absl::InvalidArgumentError(
            absl::StrCat(label_, ": there are ", all->size(), " outputs"));
      }
      results.push_back((*all)[output]);
    }
    return results;
  }

  const HostOperator compute_;
  const std::string label_;
  const std::vector<Argument> arguments_;
  const std::vector<size_t> outputs_;  // of the node, for each of the segment's
};

absl::StatusOr<std::vector<Argument>> ReadArguments(const Model& original, const Graph& piece,
                                                    size_t explicit_count) {
  std::vector<Argument> arguments;
  const ModelWeights weights = original.weights();
  const Node& node = piece.node(0);
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    Argument& argument = arguments.emplace_back();
    if (node.inputs[i] == kNoTensor) continue;
    if (const ConstantRef& constant = piece.tensor(node.inputs[i]).constant) {
      if (i >= explicit_count) continue;
      PLAIT_ASSIGN_OR_RETURN(argument.value, EvaluateConstant(*constant, weights));
      continue;
    }
    const auto inputs = piece.inputs();
    const auto* const found = std::find(inputs.begin(), inputs.end(), node.inputs[i]);
    argument.input = static_cast<int>(found - inputs.begin());
  }
  return arguments;
}

}  // namespace

std::unique_ptr<HostSegment> MakeLateSegment(const Model& original, const Graph& piece,
                                             const PartsLoading& loading) {
  const auto source = [original, piece](absl::Span<const DataType> types) -> absl::StatusOr<Model> {
    PLAIT_ASSIGN_OR_RETURN(const std::string bytes, ExportPiece(original, piece, types));
    return ImportOnnx(bytes);
  };
  return std::make_unique<LateSegment>(LateModel(source, loading));
}

absl::StatusOr<std::unique_ptr<HostSegment>> MakeNodeSegment(const Model& original,
                                                             const Graph& piece,
                                                             const PartsLoading& loading) {
  const Node& node = piece.node(0);
  PLAIT_ASSIGN_OR_RETURN(onnx::NodeProto proto, ReadOpaqueNode(node));
  for (size_t i = 0; i < proto.output.size(); ++i) {
    if (node.outputs[i] != kNoTensor) proto.output[i] = *piece.tensor(node.outputs[i]).name;
  }
  const auto body = [&](absl::string_view attribute) -> std::unique_ptr<HostBody> {
    const auto source = [original, piece,
                         name = std::string(attribute)](absl::Span<const DataType> types) {
      return SubgraphModel(original, piece, 0, name, types);
    };
    return std::make_unique<Body>(LateModel(source, loading));
  };
  absl::StatusOr<HostOperator> compute = MakeHostOperator({proto, original.opset(), body});
  if (!compute.ok()) return Annotate(compute.status(), NodeLabel(proto));
  PLAIT_ASSIGN_OR_RETURN(std::vector<Argument> arguments,
                         ReadArguments(original, piece, proto.input.size()));
  std::vector<size_t> outputs;
  for (const TensorId output : piece.outputs()) {
    const auto* const found = std::find(node.outputs.begin(), node.outputs.end(), output);
    outputs.push_back(static_cast<size_t>(found - node.outputs.begin()));
  }
  return std::make_unique<NodeSegment>(*std::move(compute), NodeLabel(proto), std::move(arguments),
                                       std::move(outputs));
}

}  // namespace plait
