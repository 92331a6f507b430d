#include "client/input_sets.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/status_macros.h"
#include "client/files/tensor_folder.h"
#include "client/shape_option.h"
#include "optimizer/onnx/assume_batch.h"
#include "optimizer/onnx/bind.h"
#include "optimizer/onnx/import.h"
#include "proto/wire/digest.h"
#include "proto/wire/error.h"
#include "proto/wire/options.h"

namespace plait {
namespace {

// The model as the search will see it.
absl::StatusOr<Graph> GraphOf(const Arguments& arguments, const v1::OptimizeModelRequest& request,
                              absl::string_view bytes) {
  const auto rejected = [&](const absl::Status& status) {
    return wire::WithReason(Annotate(status, arguments.positionals()[0]),
                            v1::ERROR_REASON_MODEL_REJECTED);
  };
  const absl::StatusOr<Model> model = ImportOnnx(bytes);
  if (!model.ok()) return rejected(model.status());
  Bindings bindings = NamedShapes(arguments);
  // Of shapes in a range the smallest is the one that is measured.
  for (const auto& [name, range] : request.options().shape_ranges()) {
    for (const v1::DimRange& dim : range.dims()) bindings[name].push_back(dim.low());
  }
  std::vector<std::string> assumed;
  absl::StatusOr<Bound> bound = Bind(*model, WithBatchOfOne(*model, bindings, &assumed));
  if (!bound.ok()) return rejected(bound.status());
  return std::move(bound->graph);
}

}  // namespace

absl::StatusOr<std::vector<Tensor>> ReadInputSets(const Arguments& arguments,
                                                  absl::string_view model,
                                                  v1::OptimizeModelRequest& request) {
  const std::vector<std::string> folders = arguments.Texts(kInputsOption.name);
  std::vector<Tensor> values;
  if (folders.empty()) return values;
  PLAIT_ASSIGN_OR_RETURN(const Graph graph, GraphOf(arguments, request, model));
  for (const std::string& folder : folders) {
    absl::StatusOr<std::vector<Tensor>> inputs = ReadInputs(folder, graph);
    if (!inputs.ok()) return Annotate(inputs.status(), folder);
    v1::InputSet& set = *request.mutable_options()->add_input_sets();
    for (size_t i = 0; i < inputs->size(); ++i) {
      v1::InputValue& value = *set.add_values();
      value.set_name(*graph.tensor(graph.inputs()[i]).name);
      *value.mutable_blob() = wire::DigestToProto(DigestOf((*inputs)[i].bytes()));
      values.push_back(std::move((*inputs)[i]));
    }
  }
  // Before anything is sent.
  PLAIT_RETURN_IF_ERROR(wire::CheckedOptions(request.options()).status());
  return values;
}

absl::Status UploadBlobs(const Client& client, absl::string_view model,
                         const std::vector<Tensor>& inputs, v1::OptimizeModelRequest& request) {
  PLAIT_ASSIGN_OR_RETURN(*request.mutable_model(), client.Upload(model));
  for (const Tensor& input : inputs) {
    PLAIT_RETURN_IF_ERROR(client.Upload(input.bytes()).status());
  }
  return absl::OkStatus();
}

}  // namespace plait
