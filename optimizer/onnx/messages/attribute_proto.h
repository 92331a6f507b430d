#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "optimizer/ir/attributes.h"
#include "optimizer/onnx/messages/messages.h"

namespace plait {

// The attributes of a node. Subgraphs, sparse tensors, types and tensors of element types that the
// IR lacks become OpaqueBytes: the serialized AttributeProto.
// Errors: InvalidArgument naming the attribute when one is listed twice, has no type, refers to an
// attribute of a function that is not there, or holds a malformed tensor.
absl::StatusOr<Attributes> ReadAttributes(const onnx::NodeProto& node);

// The inverse for one attribute: reading what this wrote gives the value again.
// Errors: InvalidArgument when OpaqueBytes are no attribute.
absl::StatusOr<onnx::AttributeProto> WriteAttribute(absl::string_view name,
                                                    const AttributeValue& value);

}  // namespace plait
