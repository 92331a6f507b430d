#include "optimizer/onnx/import.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "optimizer/onnx/messages/check_names.h"
#include "optimizer/onnx/messages/inline_functions.h"
#include "optimizer/onnx/messages/node_label.h"
#include "optimizer/onnx/messages/order_nodes.h"
#include "optimizer/onnx/messages/read_message.h"
#include "optimizer/onnx/model_parts.h"
#include "optimizer/onnx/place_initializers.h"
#include "optimizer/onnx/read_constants.h"
#include "optimizer/onnx/value_info.h"
#include "optimizer/ops/shared/op_spec.h"

namespace plait {

namespace {

// From this IR version on, an input with an initializer is an input with a default value.
constexpr int64_t kDefaultInputsIrVersion = 4;

bool UsesOnnxOperators(const onnx::GraphProto& graph) {
  for (const onnx::NodeProto& node : graph.node) {
    if (IsDefaultDomain(node.domain())) return true;
  }
  return false;
}

absl::StatusOr<int> FindOpset(const onnx::ModelProto& model) {
  int64_t opset = 0;
  for (const auto& import : model.opset_import) {
    if (!IsDefaultDomain(import.domain())) continue;
    // The domain has two spellings, so a model may import it twice without noticing.
    if (opset != 0 && opset != import.version()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the model imports two opsets of ONNX, ", opset, " and ", import.version()));
    }
    opset = import.version();
    if (opset < kOpsetMin || opset > kOpsetMax) {
      return absl::InvalidArgumentError(
          absl::StrCat("the model uses opset ", opset, "; accepted are ", kOpsetMin, " to ",
                       kOpsetMax, " (convert it with onnx.version_converter)"));
    }
  }
  if (opset != 0) return static_cast<int>(opset);
  if (UsesOnnxOperators(model.graph())) {
    return absl::InvalidArgumentError(
        absl::StrCat("the model imports no opset of ONNX's operators; accepted are ", kOpsetMin,
                     " to ", kOpsetMax));
  }
  return kOpsetMax;
}

void ReadInputsAndOutputs(ModelParts* parts) {
  const onnx::GraphProto& graph = parts->proto.graph();
  absl::flat_hash_set<std::string> initializers;
  for (const auto& initializer : graph.initializer) initializers.insert(initializer.name());
  for (const auto& sparse : graph.sparse_initializer) {
    initializers.insert(sparse.values().name());
  }
  for (const auto& input : graph.input) {
    if (!initializers.contains(input.name())) {
      parts->inputs.push_back(ReadValueInfo(input));
    } else if (parts->proto.ir_version() >= kDefaultInputsIrVersion) {
      parts->warnings.push_back(
          absl::StrCat("input '", input.name(),
                       "' has a default value, which was taken as a constant: callers can no "
                       "longer override it"));
    }
  }
  for (const auto& output : graph.output) parts->outputs.push_back(ReadValueInfo(output));
}

// Each step may rely on those before it: limits before anything is built, names before messages
// quote them, inlining before the order of nodes is asked for, since bodies add nodes.
absl::StatusOr<Model> Import(std::shared_ptr<ModelParts> parts, int threads) {
  if (!parts->proto.graph.has()) {
    return absl::InvalidArgumentError("not an ONNX model: it has no graph");
  }
  PLAIT_RETURN_IF_ERROR(CheckNames(parts->proto));
  PLAIT_RETURN_IF_ERROR(InlineFunctions(&parts->proto));
  PLAIT_ASSIGN_OR_RETURN(parts->opset, FindOpset(parts->proto));
  PLAIT_ASSIGN_OR_RETURN(parts->node_order, OrderNodes(parts->proto.graph()));
  PLAIT_RETURN_IF_ERROR(ReadConstants(threads, parts.get()));
  ReadInputsAndOutputs(parts.get());
  return Model(std::move(parts));
}

}  // namespace

absl::StatusOr<Model> ImportOnnx(absl::string_view bytes) {
  auto parts = std::make_shared<ModelParts>();
  PLAIT_ASSIGN_OR_RETURN(parts->proto, ReadModel(bytes));
  return Import(std::move(parts), 1);
}

absl::StatusOr<Model> ImportOnnx(LargeBuffer bytes, int threads) {
  auto parts = std::make_shared<ModelParts>();
  parts->bytes = std::move(bytes);
  PLAIT_ASSIGN_OR_RETURN(parts->proto, ReadModelLookingAtInitializers(parts->bytes.bytes()));
  PlaceInitializers(threads, parts.get());
  return Import(std::move(parts), threads);
}

}  // namespace plait
