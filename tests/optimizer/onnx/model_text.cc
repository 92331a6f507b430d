#include "tests/optimizer/onnx/model_text.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "onnx/defs/parser.h"

namespace plait {

onnx::ModelProto ModelFromText(const std::string& text) {
  onnx::ModelProto model;
  onnx::OnnxParser parser(text.c_str());
  const onnx::Common::Status status = parser.Parse(model);
  if (!status.IsOK()) std::fprintf(stderr, "%s\n%s\n", status.ErrorMessage().c_str(), text.c_str());
  PLAIT_CHECK(status.IsOK());
  return model;
}

std::string BytesFromText(const std::string& text,
                          const std::function<void(onnx::ModelProto*)>& change) {
  onnx::ModelProto model = ModelFromText(text);
  if (change) change(&model);
  return model.SerializeAsString();
}

std::string GraphBytes(int opset, const std::string& graph,
                       const std::function<void(onnx::ModelProto*)>& change) {
  return BytesFromText(absl::StrCat("<ir_version: 8, opset_import: [\"\" : ", opset, "]>\n", graph),
                       change);
}

onnx::TensorProto FloatTensor(const std::string& name, const std::vector<int64_t>& dims,
                              float start, float step) {
  onnx::TensorProto tensor;
  tensor.set_name(name);
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  int64_t elements = 1;
  for (const int64_t dim : dims) {
    tensor.add_dims(dim);
    elements *= dim;
  }
  std::string bytes;
  for (int64_t i = 0; i < elements; ++i) {
    const float value = start + step * static_cast<float>(i);
    bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  tensor.set_raw_data(bytes);
  return tensor;
}

onnx::TensorProto Int64Tensor(const std::string& name, const std::vector<int64_t>& values) {
  onnx::TensorProto tensor;
  tensor.set_name(name);
  tensor.set_data_type(onnx::TensorProto::INT64);
  tensor.add_dims(static_cast<int64_t>(values.size()));
  for (const int64_t value : values) tensor.add_int64_data(value);
  return tensor;
}

}  // namespace plait
