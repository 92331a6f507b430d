#include "optimizer/onnx/messages/tensor_file.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/onnx/messages/read_message.h"
#include "optimizer/onnx/messages/tensor_proto.h"
#include "optimizer/onnx/messages/write_message.h"

namespace plait {

absl::StatusOr<NamedTensor> ReadTensorFile(absl::string_view bytes) {
  PLAIT_ASSIGN_OR_RETURN(const onnx::TensorProto proto,
                         ReadMessage<onnx::TensorProto>(bytes, "the tensor file"));
  if (!IsSupportedDataType(proto.data_type())) {
    return absl::InvalidArgumentError(absl::StrCat("tensor '", proto.name(), "': element type ",
                                                   proto.data_type(), " is not supported"));
  }
  PLAIT_ASSIGN_OR_RETURN(Tensor tensor, CopyTensorProto(proto));
  return NamedTensor{proto.name(), std::move(tensor)};
}

absl::StatusOr<std::string> WriteTensorFile(const NamedTensor& tensor) {
  return WriteMessage(WriteTensorProto(tensor.tensor, tensor.name), "the tensor file");
}

}  // namespace plait
