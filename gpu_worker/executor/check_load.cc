#include "gpu_worker/executor/check_load.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/kernels/format_rules.h"
#include "optimizer/ops/shared/op_spec.h"

// Graphs and plans come from files and other processes. Where they do not fit each other, or a
// graph does not fit itself, kernels would read and write past their buffers. For example
//
//   const %c: complex64[4] = raw "..."
//   const %p: int64[2] = [1099511627776,0]
//   %y: complex64[1] = Pad(%c, %p)
//
// declares a result of 8 bytes, and its kernel would write 8 TiB behind it. Nobody infers types of
// complex numbers, so that the text could say what it liked.

namespace plait {
namespace {

std::string NameOf(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.name != nullptr && !node.name->empty()) return *node.name;
  return absl::StrCat("node ", id);
}

absl::Status CheckNode(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const Types inferred = InferTypes(graph, id);
  // Whatever the reason, and also where it is that inference knows too little: no kernel may know
  // more.
  if (!inferred.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(NameOf(graph, id), ": ", inferred.status().message()));
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] == kNoTensor) continue;
    const TensorType& declared = graph.type(node.outputs[i]);
    if (declared.known() && declared == (*inferred)[i]) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(NameOf(graph, id), ": output ", i, " of ", OpKindName(node.op), " is ",
                     (*inferred)[i].ToString(), ", declared is ", declared.ToString()));
  }
  return absl::OkStatus();
}

// Kernels read an inline value's bytes as their tensor's type says.
absl::Status CheckConstant(const TensorInfo& tensor) {
  if (tensor.constant == nullptr) return absl::OkStatus();
  const Tensor* const value = tensor.constant->inline_value();
  const TensorType& type = value == nullptr ? tensor.constant->type() : value->type();
  if (type == tensor.type) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("constant ", *tensor.name, " is ", type.ToString(),
                                                 ", declared is ", tensor.type.ToString()));
}

// What nobody computes with is no input to draw and no output to compare.
absl::Status CheckPort(const TensorInfo& tensor) {
  const DataType dtype = tensor.type.dtype;
  if (IsFloat(dtype) || IsInteger(dtype) || dtype == DataType::kBool) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(*tensor.name, " is ", tensor.type.ToString(), ", which holds no numbers"));
}

}  // namespace

absl::Status CheckTypes(const Graph& graph) {
  for (const TensorInfo& tensor : graph.tensors()) PLAIT_RETURN_IF_ERROR(CheckConstant(tensor));
  for (const TensorId input : graph.inputs()) PLAIT_RETURN_IF_ERROR(CheckPort(graph.tensor(input)));
  for (const TensorId output : graph.outputs()) {
    PLAIT_RETURN_IF_ERROR(CheckPort(graph.tensor(output)));
  }
  for (NodeId node = 0; node < graph.node_count(); ++node) {
    PLAIT_RETURN_IF_ERROR(CheckNode(graph, node));
  }
  return absl::OkStatus();
}

absl::Status CheckBinding(const Plan& plan, const Graph& graph, const DeviceDescription& device) {
  const std::string graph_fingerprint = graph.fingerprint().ToString();
  if (plan.graph_fingerprint != graph_fingerprint) {
    return absl::InvalidArgumentError(absl::StrCat("plan: made for graph ", plan.graph_fingerprint,
                                                   ", this is ", graph_fingerprint));
  }
  if (plan.device_fingerprint != device.fingerprint) {
    return absl::InvalidArgumentError(absl::StrCat("plan: made for device \"",
                                                   plan.device_fingerprint, "\", this is \"",
                                                   device.fingerprint, "\""));
  }
  if (plan.threads > device.threads) {
    return absl::InvalidArgumentError(
        absl::StrCat("plan: needs ", plan.threads, " threads, the device has ", device.threads));
  }
  return absl::OkStatus();
}

absl::Status CheckStoredWhole(const Plan& plan, const Graph& graph) {
  for (const Value& value : plan.values) {
    if (IsStoredWhole(graph.type(value.tensor), value.format)) continue;
    return absl::InvalidArgumentError(absl::StrCat("plan: the device has no format ",
                                                   FormatName(value.format), ", in which %",
                                                   *graph.tensor(value.tensor).name, " is to lie"));
  }
  return absl::OkStatus();
}

absl::Status CheckInputs(const Graph& graph, absl::Span<const Tensor> inputs) {
  if (inputs.size() != graph.inputs().size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("inputs: the graph has ", graph.inputs().size(), ", got ", inputs.size()));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const TensorInfo& info = graph.tensor(graph.inputs()[i]);
    if (inputs[i].type() == info.type) continue;
    return absl::InvalidArgumentError(absl::StrCat("input ", *info.name, " must be ",
                                                   info.type.ToString(), ", is ",
                                                   inputs[i].type().ToString()));
  }
  return absl::OkStatus();
}

}  // namespace plait
