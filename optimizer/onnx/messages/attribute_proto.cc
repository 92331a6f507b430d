#include "optimizer/onnx/messages/attribute_proto.h"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/onnx/messages/read_message.h"
#include "optimizer/onnx/messages/tensor_proto.h"
#include "optimizer/onnx/messages/write_message.h"

namespace plait {

namespace {

using onnx::AttributeProto;

absl::Status AttributeError(const AttributeProto& proto, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("attribute '", proto.name(), "' ", what));
}

// By the declared type, never by which field is filled: an empty list fills none.
absl::StatusOr<AttributeValue> ReadAttribute(const AttributeProto& proto) {
  switch (proto.type()) {
    case AttributeProto::kInt:
      return AttributeValue(int64_t{proto.i()});
    case AttributeProto::kFloat:
      return AttributeValue(proto.f());
    case AttributeProto::kString:
      return AttributeValue(proto.s());
    case AttributeProto::kInts:
      return AttributeValue(proto.ints);
    case AttributeProto::kFloats:
      return AttributeValue(proto.floats);
    case AttributeProto::kStrings:
      return AttributeValue(proto.strings);
    case AttributeProto::kTensor:
      if (IsSupportedDataType(proto.t().data_type())) {
        PLAIT_ASSIGN_OR_RETURN(Tensor tensor, CopyTensorProto(proto.t()));
        return AttributeValue(std::move(tensor));
      }
      break;
    case AttributeProto::kUndefined:
      return AttributeError(proto, "has no type");
    default:
      break;
  }
  PLAIT_ASSIGN_OR_RETURN(std::string bytes, WriteMessage(proto, "attribute"));
  return AttributeValue(OpaqueBytes{std::move(bytes)});
}

// Sets the field of an AttributeProto that each kind of value belongs in.
struct AttributeWriter {
  AttributeProto* proto;

  absl::Status operator()(int64_t value) const {
    proto->type = AttributeProto::kInt;
    proto->i = value;
    return absl::OkStatus();
  }
  absl::Status operator()(float value) const {
    proto->type = AttributeProto::kFloat;
    proto->f = value;
    return absl::OkStatus();
  }
  absl::Status operator()(const std::string& value) const {
    proto->type = AttributeProto::kString;
    proto->s = value;
    return absl::OkStatus();
  }
  absl::Status operator()(const std::vector<int64_t>& values) const {
    proto->type = AttributeProto::kInts;
    proto->ints = values;
    return absl::OkStatus();
  }
  absl::Status operator()(const std::vector<float>& values) const {
    proto->type = AttributeProto::kFloats;
    proto->floats = values;
    return absl::OkStatus();
  }
  absl::Status operator()(const std::vector<std::string>& values) const {
    proto->type = AttributeProto::kStrings;
    proto->strings = values;
    return absl::OkStatus();
  }
  absl::Status operator()(const Tensor& value) const {
    proto->type = AttributeProto::kTensor;
    proto->t = WriteTensorProto(value, "");
    return absl::OkStatus();
  }
  absl::Status operator()(const OpaqueBytes& value) const {
    PLAIT_ASSIGN_OR_RETURN(*proto, ReadMessage<AttributeProto>(value.bytes, "attribute"));
    return absl::OkStatus();
  }
};

}  // namespace

absl::StatusOr<Attributes> ReadAttributes(const onnx::NodeProto& node) {
  // In the order of their names, in which adding one moves no other.
  std::vector<const AttributeProto*> by_name;
  for (const AttributeProto& proto : node.attribute) by_name.push_back(&proto);
  std::stable_sort(by_name.begin(), by_name.end(),
                   [](const auto* a, const auto* b) { return a->name() < b->name(); });
  Attributes attributes;
  for (const AttributeProto* const each : by_name) {
    const AttributeProto& proto = *each;
    if (attributes.Has(proto.name())) return AttributeError(proto, "is listed twice");
    if (!proto.ref_attr_name().empty()) {
      return AttributeError(proto, absl::StrCat("refers to '", proto.ref_attr_name(),
                                                "' of a function, but stands in none"));
    }
    PLAIT_ASSIGN_OR_RETURN(AttributeValue value, ReadAttribute(proto));
    attributes.Set(proto.name(), std::move(value));
  }
  return attributes;
}

absl::StatusOr<AttributeProto> WriteAttribute(absl::string_view name, const AttributeValue& value) {
  AttributeProto proto;
  // The name last: OpaqueBytes bring the one that they were read under.
  PLAIT_RETURN_IF_ERROR(std::visit(AttributeWriter{&proto}, value));
  proto.name = std::string(name);
  return proto;
}

}  // namespace plait
