#include "tests/optimizer/onnx/messages/whole_model.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace plait {

namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// Numbers that no two fields share: large, small and negative ones.
class Values {
 public:
  int64_t Integer() {
    const int64_t value = ++count_ * 977;
    return count_ % 3 == 0 ? -value : count_ % 3 == 1 ? value << 33 : count_ % 100;
  }
  std::string Text() { return absl::StrCat("text ", ++count_, std::string(1, '\0'), "\xff"); }

 private:
  int64_t count_ = 0;
};

void AddValue(const FieldDescriptor& field, int depth, Values* values, Message* message);

void Fill(int depth, Values* values, Message* message) {
  const auto* type = message->GetDescriptor();
  for (int i = 0; i < type->field_count(); ++i) {
    for (int times = type->field(i)->is_repeated() ? 2 : 1; times > 0; --times) {
      AddValue(*type->field(i), depth, values, message);
    }
  }
}

void AddMessage(const FieldDescriptor& field, int depth, Values* values, Message* message) {
  if (depth == 0) return;
  const Reflection& fields = *message->GetReflection();
  Fill(depth - 1, values,
       field.is_repeated() ? fields.AddMessage(message, &field)
                           : fields.MutableMessage(message, &field));
}

void AddValue(const FieldDescriptor& field, int depth, Values* values, Message* message) {
  const Reflection& fields = *message->GetReflection();
  const auto put = [&](auto set, auto add, auto value) {
    field.is_repeated() ? (fields.*add)(message, &field, value)
                        : (fields.*set)(message, &field, value);
  };
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return put(&Reflection::SetInt32, &Reflection::AddInt32,
                 static_cast<int32_t>(values->Integer()));
    case FieldDescriptor::CPPTYPE_INT64:
      return put(&Reflection::SetInt64, &Reflection::AddInt64, values->Integer());
    case FieldDescriptor::CPPTYPE_UINT64:
      return put(&Reflection::SetUInt64, &Reflection::AddUInt64,
                 static_cast<uint64_t>(values->Integer()));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return put(&Reflection::SetFloat, &Reflection::AddFloat,
                 static_cast<float>(values->Integer()) / 7);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return put(&Reflection::SetDouble, &Reflection::AddDouble,
                 static_cast<double>(values->Integer()) / 7);
    case FieldDescriptor::CPPTYPE_ENUM: {
      const auto* last = field.enum_type()->value(field.enum_type()->value_count() - 1);
      return put(&Reflection::SetEnum, &Reflection::AddEnum, last);
    }
    case FieldDescriptor::CPPTYPE_STRING:
      return field.is_repeated() ? fields.AddString(message, &field, values->Text())
                                 : fields.SetString(message, &field, values->Text());
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return AddMessage(field, depth, values, message);
    default:
      std::abort();  // onnx.proto has no other
  }
}

}  // namespace

void FillMessage(Message* message, int depth) {
  Values values;
  Fill(depth, &values, message);
}

void AddUnknownFields(Message* message) {
  const Reflection& fields = *message->GetReflection();
  std::vector<const FieldDescriptor*> present;
  fields.ListFields(*message, &present);
  for (const FieldDescriptor* field : present) {
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (!field->is_repeated()) AddUnknownFields(fields.MutableMessage(message, field));
    for (int i = 0; field->is_repeated() && i < fields.FieldSize(*message, field); ++i) {
      AddUnknownFields(fields.MutableRepeatedMessage(message, field, i));
    }
  }
  auto* unknown = fields.MutableUnknownFields(message);
  unknown->AddLengthDelimited(30, "a field of tomorrow");
  unknown->AddVarint(31, 1);
  unknown->AddFixed32(1000, 2);
  unknown->AddFixed64(1000, 3);
  unknown->AddLengthDelimited(500'000'000, "");
}

::onnx::ModelProto WholeModel(bool with_unknown_fields) {
  ::onnx::ModelProto model;
  FillMessage(&model, 6);
  if (with_unknown_fields) AddUnknownFields(&model);
  return model;
}

}  // namespace plait
