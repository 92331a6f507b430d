#include "optimizer/onnx/value_info.h"

#include <string>

#include "optimizer/onnx/messages/tensor_proto.h"

namespace plait {

ModelValue ReadValueInfo(const onnx::ValueInfoProto& proto) {
  ModelValue value;
  value.name = proto.name();
  const auto& type = proto.type().tensor_type();
  if (!proto.type().tensor_type.has() || !IsSupportedDataType(type.elem_type())) return value;
  value.dtype = static_cast<DataType>(type.elem_type());
  value.has_shape = type.shape.has();
  // A dimension has a size, a symbol or neither: a oneof in onnx.proto.
  for (const auto& dim : type.shape().dim) {
    Dimension dimension;
    if (dim.dim_value.has() && dim.dim_value() >= 0) dimension.size = dim.dim_value();
    dimension.symbol = dim.dim_param();
    value.shape.push_back(std::move(dimension));
  }
  return value;
}

onnx::ValueInfoProto WriteValueInfo(absl::string_view name, const TensorType& type) {
  onnx::ValueInfoProto proto;
  proto.name = std::string(name);
  auto* tensor = proto.type.mutable_value()->tensor_type.mutable_value();
  tensor->elem_type = static_cast<int>(type.dtype);
  // Present even without dimensions: a scalar is not a tensor of unknown rank.
  auto* shape = tensor->shape.mutable_value();
  for (const int64_t size : type.shape) shape->dim.emplace_back().dim_value = size;
  return proto;
}

}  // namespace plait
