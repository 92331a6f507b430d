#include "optimizer/onnx/messages/attribute_proto.h"

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/onnx/messages/protobuf_guard.h"
#include "optimizer/onnx/messages/tensor_proto.h"

namespace plait {

namespace {

using onnx::AttributeProto;

absl::Status Error(const AttributeProto& proto, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("attribute '", proto.name(), "' ", what));
}

// By the declared type, never by which field is filled: an empty list fills none.
absl::StatusOr<AttributeValue> ReadAttribute(const AttributeProto& proto) {
  switch (proto.type()) {
    case AttributeProto::INT:
      return AttributeValue(int64_t{proto.i()});
    case AttributeProto::FLOAT:
      return AttributeValue(proto.f());
    case AttributeProto::STRING:
      return AttributeValue(proto.s());
    case AttributeProto::INTS:
      return AttributeValue(std::vector<int64_t>(proto.ints().begin(), proto.ints().end()));
    case AttributeProto::FLOATS:
      return AttributeValue(std::vector<float>(proto.floats().begin(), proto.floats().end()));
    case AttributeProto::STRINGS:
      return AttributeValue(
          std::vector<std::string>(proto.strings().begin(), proto.strings().end()));
    case AttributeProto::TENSOR:
      if (IsSupportedDataType(proto.t().data_type())) {
        PLAIT_ASSIGN_OR_RETURN(Tensor tensor, CopyTensorProto(proto.t()));
        return AttributeValue(std::move(tensor));
      }
      break;
    case AttributeProto::UNDEFINED:
      return Error(proto, "has no type");
    default:
      break;
  }
  PLAIT_ASSIGN_OR_RETURN(std::string bytes, SerializeProto(proto, "attribute"));
  return AttributeValue(OpaqueBytes{std::move(bytes)});
}

// Sets the field of an AttributeProto that each kind of value belongs in.
struct AttributeWriter {
  AttributeProto* proto;

  absl::Status operator()(int64_t value) const {
    proto->set_type(AttributeProto::INT);
    proto->set_i(value);
    return absl::OkStatus();
  }
  absl::Status operator()(float value) const {
    proto->set_type(AttributeProto::FLOAT);
    proto->set_f(value);
    return absl::OkStatus();
  }
  absl::Status operator()(const std::string& value) const {
    proto->set_type(AttributeProto::STRING);
    proto->set_s(value);
    return absl::OkStatus();
  }
  absl::Status operator()(const std::vector<int64_t>& values) const {
    proto->set_type(AttributeProto::INTS);
    for (const int64_t value : values) proto->add_ints(value);
    return absl::OkStatus();
  }
  absl::Status operator()(const std::vector<float>& values) const {
    proto->set_type(AttributeProto::FLOATS);
    for (const float value : values) proto->add_floats(value);
    return absl::OkStatus();
  }
  absl::Status operator()(const std::vector<std::string>& values) const {
    proto->set_type(AttributeProto::STRINGS);
    for (const std::string& value : values) proto->add_strings(value);
    return absl::OkStatus();
  }
  absl::Status operator()(const Tensor& value) const {
    proto->set_type(AttributeProto::TENSOR);
    *proto->mutable_t() = WriteTensorProto(value, "");
    return absl::OkStatus();
  }
  absl::Status operator()(const OpaqueBytes& value) const {
    return ParseProto(value.bytes, "attribute", proto);
  }
};

}  // namespace

absl::StatusOr<Attributes> ReadAttributes(const onnx::NodeProto& node) {
  Attributes attributes;
  for (const AttributeProto& proto : node.attribute()) {
    if (attributes.Has(proto.name())) return Error(proto, "is listed twice");
    if (!proto.ref_attr_name().empty()) {
      return Error(proto, absl::StrCat("refers to '", proto.ref_attr_name(),
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
  proto.set_name(std::string(name));
  return proto;
}

}  // namespace plait
