#include "optimizer/onnx/value_info.h"

#include <string>

#include "optimizer/onnx/messages/tensor_proto.h"

namespace plait {

ModelValue ReadValueInfo(const onnx::ValueInfoProto& proto) {
  ModelValue value;
  value.name = proto.name();
  const auto& type = proto.type().tensor_type();
  if (!proto.type().has_tensor_type() || !IsSupportedDataType(type.elem_type())) return value;
  value.dtype = static_cast<DataType>(type.elem_type());
  value.has_shape = type.has_shape();
  // A dimension has a size, a symbol or neither: a oneof in onnx.proto.
  for (const auto& dim : type.shape().dim()) {
    Dimension dimension;
    if (dim.has_dim_value() && dim.dim_value() >= 0) dimension.size = dim.dim_value();
    dimension.symbol = dim.dim_param();
    value.shape.push_back(std::move(dimension));
  }
  return value;
}

onnx::ValueInfoProto WriteValueInfo(absl::string_view name, const TensorType& type) {
  onnx::ValueInfoProto proto;
  proto.set_name(std::string(name));
  auto* tensor = proto.mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(static_cast<int>(type.dtype));
  // Present even without dimensions: a scalar is not a tensor of unknown rank.
  tensor->mutable_shape();
  for (const int64_t size : type.shape) tensor->mutable_shape()->add_dim()->set_dim_value(size);
  return proto;
}

}  // namespace plait
