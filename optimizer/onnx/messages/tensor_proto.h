#pragma once

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/digest.h"
#include "optimizer/ir/tensor.h"
#include "optimizer/onnx/messages/messages.h"

namespace plait {

// True when the IR has tensors of ONNX's element type `data_type`: not strings, complex numbers and
// the sub-byte and 8-bit float formats, whose nodes stay opaque.
bool IsSupportedDataType(int data_type);

// InvalidArgument naming the tensor.
absl::Status TensorError(const onnx::TensorProto& proto, absl::string_view what);

// The element type and shape of a tensor.
// Errors: InvalidArgument naming the tensor for negative dimensions and sizes above the limits.
// REQUIRES: IsSupportedDataType(proto.data_type()).
absl::StatusOr<TensorType> TypeOfTensorProto(const onnx::TensorProto& proto);

// The value of a tensor. Where its bytes already lie as the IR wants them (raw data and most typed
// fields), the result looks at the proto, which `owner` keeps alive; otherwise it is converted.
// Errors: InvalidArgument naming the tensor when the data does not fill the shape exactly or lies
// in another file.
// REQUIRES: IsSupportedDataType(proto.data_type()).
absl::StatusOr<Tensor> ReadTensorProto(const onnx::TensorProto& proto,
                                       const std::shared_ptr<const void>& owner);

// The same for a proto that goes away: the result has its own bytes.
absl::StatusOr<Tensor> CopyTensorProto(const onnx::TensorProto& proto);

// A tensor as raw data.
onnx::TensorProto WriteTensorProto(const Tensor& tensor, absl::string_view name);

// The digest in a tensor whose bytes were stripped (strip.h); nullopt for any other tensor.
std::optional<Digest> StrippedDigest(const onnx::TensorProto& proto);

// The location of a stripped tensor's external data: this prefix and the digest.
constexpr absl::string_view kStrippedLocationPrefix = "plait:";

}  // namespace plait
