#pragma once

#include <tuple>

#include "optimizer/onnx/messages/messages.h"

// Which number each field has in onnx.proto: all that reading and writing know of a message. For
// the sources of this folder that go through a message's fields, whichever these are.
namespace plait::onnx {

enum class Form {
  kPlain,   // repeated numbers are written one by one; both ways are read
  kPacked,  // repeated numbers are written as one field, as onnx.proto says of a tensor's data
  kChoice,  // of those of a message one at most is present
};

template <typename Message, typename Value>
struct NumberedField {
  int number;
  Value Message::*member;
  Form form;
};

template <typename Message, typename Value>
constexpr NumberedField<Message, Value> Numbered(int number, Value Message::*member,
                                                 Form form = Form::kPlain) {
  return {number, member, form};
}

// The fields of a message type, by number. The pointer only chooses the type, and may be null.
constexpr auto FieldsOf(const StringStringEntryProto*) {
  using Message = StringStringEntryProto;
  return std::make_tuple(Numbered(1, &Message::key), Numbered(2, &Message::value));
}

constexpr auto FieldsOf(const OperatorSetIdProto*) {
  using Message = OperatorSetIdProto;
  return std::make_tuple(Numbered(1, &Message::domain), Numbered(2, &Message::version));
}

constexpr auto FieldsOf(const TensorProto::Segment*) {
  using Message = TensorProto::Segment;
  return std::make_tuple(Numbered(1, &Message::begin), Numbered(2, &Message::end));
}

constexpr auto FieldsOf(const TensorProto*) {
  using Message = TensorProto;
  return std::make_tuple(
      Numbered(1, &Message::dims), Numbered(2, &Message::data_type), Numbered(3, &Message::segment),
      Numbered(4, &Message::float_data, Form::kPacked),
      Numbered(5, &Message::int32_data, Form::kPacked), Numbered(6, &Message::string_data),
      Numbered(7, &Message::int64_data, Form::kPacked), Numbered(8, &Message::name),
      Numbered(9, &Message::raw_data), Numbered(10, &Message::double_data, Form::kPacked),
      Numbered(11, &Message::uint64_data, Form::kPacked), Numbered(13, &Message::external_data),
      Numbered(14, &Message::data_location));
}

constexpr auto FieldsOf(const SparseTensorProto*) {
  using Message = SparseTensorProto;
  return std::make_tuple(Numbered(1, &Message::values), Numbered(2, &Message::indices),
                         Numbered(3, &Message::dims));
}

constexpr auto FieldsOf(const TensorShapeProto::Dimension*) {
  using Message = TensorShapeProto::Dimension;
  return std::make_tuple(Numbered(1, &Message::dim_value, Form::kChoice),
                         Numbered(2, &Message::dim_param, Form::kChoice));
}

constexpr auto FieldsOf(const TensorShapeProto*) {
  return std::make_tuple(Numbered(1, &TensorShapeProto::dim));
}

constexpr auto FieldsOf(const TypeProto::Tensor*) {
  using Message = TypeProto::Tensor;
  return std::make_tuple(Numbered(1, &Message::elem_type), Numbered(2, &Message::shape));
}

constexpr auto FieldsOf(const TypeProto::Wrapped*) {
  return std::make_tuple(Numbered(1, &TypeProto::Wrapped::elem_type));
}

constexpr auto FieldsOf(const TypeProto::Map*) {
  using Message = TypeProto::Map;
  return std::make_tuple(Numbered(1, &Message::key_type), Numbered(2, &Message::value_type));
}

constexpr auto FieldsOf(const TypeProto::Opaque*) {
  using Message = TypeProto::Opaque;
  return std::make_tuple(Numbered(1, &Message::domain), Numbered(2, &Message::name));
}

constexpr auto FieldsOf(const TypeProto*) {
  using Message = TypeProto;
  return std::make_tuple(Numbered(1, &Message::tensor_type, Form::kChoice),
                         Numbered(4, &Message::sequence_type, Form::kChoice),
                         Numbered(5, &Message::map_type, Form::kChoice),
                         Numbered(7, &Message::opaque_type, Form::kChoice),
                         Numbered(8, &Message::sparse_tensor_type, Form::kChoice),
                         Numbered(9, &Message::optional_type, Form::kChoice));
}

constexpr auto FieldsOf(const ValueInfoProto*) {
  using Message = ValueInfoProto;
  return std::make_tuple(Numbered(1, &Message::name), Numbered(2, &Message::type));
}

constexpr auto FieldsOf(const AttributeProto*) {
  using Message = AttributeProto;
  return std::make_tuple(
      Numbered(1, &Message::name), Numbered(2, &Message::f), Numbered(3, &Message::i),
      Numbered(4, &Message::s), Numbered(5, &Message::t), Numbered(6, &Message::g),
      Numbered(7, &Message::floats), Numbered(8, &Message::ints), Numbered(9, &Message::strings),
      Numbered(10, &Message::tensors), Numbered(11, &Message::graphs), Numbered(20, &Message::type),
      Numbered(21, &Message::ref_attr_name), Numbered(22, &Message::sparse_tensor));
}

constexpr auto FieldsOf(const NodeProto*) {
  using Message = NodeProto;
  return std::make_tuple(Numbered(1, &Message::input), Numbered(2, &Message::output),
                         Numbered(3, &Message::name), Numbered(4, &Message::op_type),
                         Numbered(5, &Message::attribute), Numbered(7, &Message::domain),
                         Numbered(8, &Message::overload));
}

constexpr auto FieldsOf(const GraphProto*) {
  using Message = GraphProto;
  return std::make_tuple(Numbered(1, &Message::node), Numbered(2, &Message::name),
                         Numbered(5, &Message::initializer), Numbered(10, &Message::doc_string),
                         Numbered(11, &Message::input), Numbered(12, &Message::output),
                         Numbered(13, &Message::value_info),
                         Numbered(15, &Message::sparse_initializer));
}

constexpr auto FieldsOf(const FunctionProto*) {
  using Message = FunctionProto;
  return std::make_tuple(Numbered(1, &Message::name), Numbered(4, &Message::input),
                         Numbered(5, &Message::output), Numbered(7, &Message::node),
                         Numbered(9, &Message::opset_import), Numbered(10, &Message::domain),
                         Numbered(11, &Message::attribute_proto), Numbered(13, &Message::overload));
}

constexpr auto FieldsOf(const ModelProto*) {
  using Message = ModelProto;
  return std::make_tuple(Numbered(1, &Message::ir_version), Numbered(2, &Message::producer_name),
                         Numbered(3, &Message::producer_version), Numbered(4, &Message::domain),
                         Numbered(5, &Message::model_version), Numbered(6, &Message::doc_string),
                         Numbered(7, &Message::graph), Numbered(8, &Message::opset_import),
                         Numbered(14, &Message::metadata_props), Numbered(25, &Message::functions));
}

}  // namespace plait::onnx
