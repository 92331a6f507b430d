#include "tests/conformance/published/published_case.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "onnx/onnx_pb.h"
#include "optimizer/onnx/import.h"
#include "optimizer/onnx/messages/tensor_file.h"
#include "optimizer/ops/shared/op_spec.h"

namespace plait {

namespace {

namespace fs = std::filesystem;

absl::StatusOr<std::string> ReadFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::NotFoundError(absl::StrCat(path.string(), ": cannot be read"));
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// input_0.pb, input_1.pb, ... as far as they go.
absl::StatusOr<std::vector<Tensor>> ReadTensors(const fs::path& folder, const std::string& stem) {
  std::vector<Tensor> tensors;
  while (true) {
    const fs::path path = folder / absl::StrCat(stem, "_", tensors.size(), ".pb");
    if (!fs::exists(path)) return tensors;
    PLAIT_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path));
    absl::StatusOr<NamedTensor> tensor = ReadTensorFile(bytes);
    if (!tensor.ok()) {
      return absl::UnimplementedError(
          absl::StrCat(path.filename().string(), ": ", tensor.status().message()));
    }
    tensors.push_back(std::move(tensor->tensor));
  }
}

std::string DescribeOpaque(const OpaqueNode& node) {
  return absl::StrCat(node.op_type, ": ", node.reason);
}

// The case with the model's inputs as they are given, and opaque nodes where there are some.
absl::StatusOr<LoadedCase> BindWhole(const std::string& bytes, std::vector<Tensor> inputs,
                                     std::vector<Tensor> expected) {
  PLAIT_ASSIGN_OR_RETURN(Model model, ImportOnnx(bytes));
  if (model.inputs().size() != inputs.size()) {
    return absl::UnimplementedError("the data gives another number of inputs than the model has");
  }
  Bindings shapes;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (model.inputs()[i].dtype == DataType::kUndefined) {
      return absl::UnimplementedError(absl::StrCat("input ", i, " is no tensor that plait has"));
    }
    shapes[model.inputs()[i].name] = inputs[i].type().shape;
  }
  PLAIT_ASSIGN_OR_RETURN(Bound bound, Bind(model, shapes));
  return LoadedCase{std::move(model), std::move(bound.graph), std::move(bound.opaque_nodes),
                    std::move(inputs), std::move(expected)};
}

// The same without opaque nodes. Errors: Unimplemented where there are some.
absl::StatusOr<LoadedCase> BindCase(const std::string& bytes, std::vector<Tensor> inputs,
                                    std::vector<Tensor> expected) {
  PLAIT_ASSIGN_OR_RETURN(LoadedCase loaded,
                         BindWhole(bytes, std::move(inputs), std::move(expected)));
  if (loaded.opaque_nodes.empty()) return loaded;
  return absl::UnimplementedError(DescribeOpaque(loaded.opaque_nodes.front()));
}

// Errors: Unimplemented when the model is older than what plait accepts.
absl::Status CheckOpset(const onnx::ModelProto& model) {
  for (const auto& import : model.opset_import()) {
    if (!import.domain().empty() || import.version() >= kOpsetMin) continue;
    return absl::UnimplementedError(
        absl::StrCat("opset ", import.version(), " is older than ", kOpsetMin));
  }
  return absl::OkStatus();
}

// Makes initializers of the inputs that hold integers and, with `lists`, of all of rank 1, and
// takes them off `inputs`.
absl::StatusOr<std::string> FixInputs(onnx::ModelProto model, bool lists,
                                      std::vector<Tensor>* inputs) {
  onnx::GraphProto* graph = model.mutable_graph();
  const onnx::GraphProto original = *graph;
  std::vector<Tensor> rest;
  graph->clear_input();
  for (int i = 0; i < original.input_size(); ++i) {
    const Tensor& value = (*inputs)[static_cast<size_t>(i)];
    if (!IsInteger(value.type().dtype) && !(lists && value.type().rank() == 1)) {
      *graph->add_input() = original.input(i);
      rest.push_back(value);
      continue;
    }
    PLAIT_ASSIGN_OR_RETURN(const std::string tensor,
                           WriteTensorFile({original.input(i).name(), value}));
    if (!graph->add_initializer()->ParseFromString(tensor)) {
      return absl::InternalError("a tensor that was written cannot be read");
    }
  }
  *inputs = std::move(rest);
  return model.SerializeAsString();
}

}  // namespace

std::string PublishedRoot() {
  const char* const given = std::getenv("PLAIT_PUBLISHED_CASES");
  return given != nullptr ? given : "/usr/share/libonnx-testdata/data";
}

absl::StatusOr<std::vector<PublishedCase>> FindPublishedCases(const std::string& root) {
  std::vector<PublishedCase> cases;
  std::error_code error;
  for (const auto& entry : fs::recursive_directory_iterator(root, error)) {
    if (entry.path().filename() != "model.onnx") continue;
    const fs::path folder = entry.path().parent_path();
    for (const auto& data : fs::directory_iterator(folder)) {
      const std::string stem = data.path().filename().string();
      constexpr absl::string_view kPrefix = "test_data_set_";
      if (!absl::StartsWith(stem, kPrefix)) continue;
      cases.push_back(
          {absl::StrCat(fs::relative(folder, root).string(), "/", stem.substr(kPrefix.size())),
           entry.path().string(), data.path().string()});
    }
  }
  if (cases.empty()) return absl::NotFoundError(absl::StrCat(root, ": holds no published cases"));
  std::sort(cases.begin(), cases.end(),
            [](const PublishedCase& a, const PublishedCase& b) { return a.name < b.name; });
  return cases;
}

absl::StatusOr<LoadedCase> LoadPublishedCase(const PublishedCase& published) {
  PLAIT_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(published.model_path));
  onnx::ModelProto model;
  if (!model.ParseFromString(bytes)) {
    return absl::InvalidArgumentError(absl::StrCat(published.model_path, ": not a model"));
  }
  PLAIT_RETURN_IF_ERROR(CheckOpset(model));
  PLAIT_ASSIGN_OR_RETURN(std::vector<Tensor> inputs, ReadTensors(published.data_path, "input"));
  PLAIT_ASSIGN_OR_RETURN(std::vector<Tensor> expected, ReadTensors(published.data_path, "output"));
  absl::StatusOr<LoadedCase> loaded = BindCase(bytes, inputs, expected);
  if (!absl::IsUnimplemented(loaded.status()) ||
      model.graph().input_size() != static_cast<int>(inputs.size())) {
    return loaded;
  }
  for (const bool lists : {false, true}) {
    std::vector<Tensor> rest = inputs;
    PLAIT_ASSIGN_OR_RETURN(const std::string fixed, FixInputs(model, lists, &rest));
    absl::StatusOr<LoadedCase> again = BindCase(fixed, std::move(rest), expected);
    if (!absl::IsUnimplemented(again.status())) return again;
  }
  return loaded;
}

absl::StatusOr<LoadedCase> LoadOpaqueCase(const PublishedCase& published) {
  if (!absl::IsUnimplemented(LoadPublishedCase(published).status())) {
    return absl::UnimplementedError("it has no opaque nodes");
  }
  PLAIT_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(published.model_path));
  onnx::ModelProto model;
  if (!model.ParseFromString(bytes)) {
    return absl::InvalidArgumentError(absl::StrCat(published.model_path, ": not a model"));
  }
  PLAIT_RETURN_IF_ERROR(CheckOpset(model));
  PLAIT_ASSIGN_OR_RETURN(std::vector<Tensor> inputs, ReadTensors(published.data_path, "input"));
  PLAIT_ASSIGN_OR_RETURN(std::vector<Tensor> expected, ReadTensors(published.data_path, "output"));
  return BindWhole(bytes, std::move(inputs), std::move(expected));
}

}  // namespace plait
