#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "onnx/onnx_pb.h"

namespace plait {

// The model that ONNX's own text form describes, parsed by libonnx. Ends the test program when it
// does not parse.
::onnx::ModelProto ModelFromText(const std::string& text);

// The same, serialized, after `change`.
std::string BytesFromText(const std::string& text,
                          const std::function<void(::onnx::ModelProto*)>& change = nullptr);

// A serialized model of one graph in text form, with the given opset.
std::string GraphBytes(int opset, const std::string& graph,
                       const std::function<void(::onnx::ModelProto*)>& change = nullptr);

// A float tensor with values start, start + step, ...
::onnx::TensorProto FloatTensor(const std::string& name, const std::vector<int64_t>& dims,
                                float start = 0, float step = 1);
::onnx::TensorProto Int64Tensor(const std::string& name, const std::vector<int64_t>& values);

}  // namespace plait
