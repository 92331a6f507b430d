#pragma once

#include "optimizer/onnx/messages/messages.h"
#include "optimizer/onnx/model.h"

namespace plait {

// What a declaration says about a value; element types that the IR lacks, and everything that is no
// tensor, read as kUndefined. A negative size reads as unknown, as some exporters write it.
ModelValue ReadValueInfo(const onnx::ValueInfoProto& proto);

// The declaration of a tensor with a static shape; scalars have a shape without dimensions.
onnx::ValueInfoProto WriteValueInfo(absl::string_view name, const TensorType& type);

}  // namespace plait
