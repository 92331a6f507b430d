#include "client/files/tensor_folder.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "client/files/file.h"
#include "client/files/npy.h"
#include "loading/file_plans.h"
#include "loading/model_file.h"
#include "optimizer/onnx/messages/tensor_file.h"

namespace plait {
namespace {

std::string NameOf(const Graph& graph, TensorId id) {
  return graph.tensor(id).name == nullptr ? "" : *graph.tensor(id).name;
}

// A name that cannot lead out of the folder.
std::string NpyPath(const std::string& folder, std::string name) {
  std::replace(name.begin(), name.end(), '/', '_');
  std::replace(name.begin(), name.end(), ':', '_');
  std::replace(name.begin(), name.end(), '\0', '_');
  return absl::StrCat(folder, "/", name, ".npy");
}

absl::StatusOr<Tensor> ReadInput(const std::string& folder, const std::string& name, size_t index) {
  const std::string npy_path = NpyPath(folder, name);
  const std::string proto_path = absl::StrCat(folder, "/input_", index, ".pb");
  absl::StatusOr<std::string> bytes = ReadFile(npy_path);
  if (bytes.ok()) return ReadNpy(*bytes);
  if (!absl::IsNotFound(bytes.status())) return bytes.status();
  // Only where there is no NPY file: one that is damaged is an error and not passed over.
  bytes = ReadFile(proto_path);
  if (absl::IsNotFound(bytes.status())) {
    return absl::NotFoundError(absl::StrCat("neither ", npy_path, " nor ", proto_path, " exists"));
  }
  PLAIT_RETURN_IF_ERROR(bytes.status());
  PLAIT_ASSIGN_OR_RETURN(const NamedTensor named, ReadTensorFile(*bytes));
  return named.tensor;
}

bool Fits(const Shape& shape, const ModelValue& input) {
  return std::equal(shape.begin(), shape.end(), input.shape.begin(), input.shape.end(),
                    [](int64_t size, const Dimension& dimension) {
                      return !dimension.known() || dimension.size == size;
                    });
}

}  // namespace

absl::StatusOr<std::vector<Tensor>> ReadInputs(const std::string& folder, const Graph& graph) {
  std::vector<Tensor> inputs;
  for (const TensorId id : graph.inputs()) {
    const std::string name = NameOf(graph, id);
    absl::StatusOr<Tensor> input = ReadInput(folder, name, inputs.size());
    if (!input.ok()) return Annotate(input.status(), absl::StrCat("input ", name));
    if (!(input->type() == graph.type(id))) {
      return absl::InvalidArgumentError(absl::StrCat("input ", name, ": is ",
                                                     input->type().ToString(), ", must be ",
                                                     graph.type(id).ToString()));
    }
    inputs.push_back(*std::move(input));
  }
  return inputs;
}

Bindings ShapesOfInputs(const std::string& folder, const Model& model, Bindings given) {
  if (folder.empty()) return given;
  for (size_t i = 0; i < model.inputs().size(); ++i) {
    const ModelValue& input = model.inputs()[i];
    if (!IsOpen(input) || given.contains(input.name)) continue;
    // One that is missing, damaged or of another shape is told when it is read for good.
    const absl::StatusOr<Tensor> tensor = ReadInput(folder, input.name, i);
    if (tensor.ok() && Fits(tensor->type().shape, input)) {
      given[input.name] = tensor->type().shape;
    }
  }
  return given;
}

absl::Status WriteOutputs(const std::string& folder, absl::Span<const std::string> names,
                          absl::Span<const Tensor> outputs) {
  PLAIT_RETURN_IF_ERROR(MakeFolders(folder));
  for (size_t i = 0; i < outputs.size(); ++i) {
    PLAIT_ASSIGN_OR_RETURN(const std::string proto, WriteTensorFile({names[i], outputs[i]}));
    PLAIT_RETURN_IF_ERROR(WriteFile(absl::StrCat(folder, "/output_", i, ".pb"), proto));
    const absl::StatusOr<std::string> npy = WriteNpy(outputs[i]);
    // bfloat16: the other file holds it.
    if (absl::IsUnimplemented(npy.status())) continue;
    PLAIT_RETURN_IF_ERROR(npy.status());
    PLAIT_RETURN_IF_ERROR(WriteFile(NpyPath(folder, names[i]), *npy));
  }
  return absl::OkStatus();
}

}  // namespace plait
