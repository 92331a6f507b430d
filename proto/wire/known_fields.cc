#include "proto/wire/known_fields.h"

#include <string>
#include <vector>

#include <google/protobuf/descriptor.h>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "proto/wire/error.h"

namespace plait::wire {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

std::string Join(absl::string_view path, absl::string_view name) {
  return path.empty() ? std::string(name) : absl::StrCat(path, ".", name);
}

}  // namespace

absl::Status CheckFieldsKnown(absl::string_view path, const Message& message) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  const google::protobuf::UnknownFieldSet& unknown = reflection.GetUnknownFields(message);
  if (!unknown.empty()) {
    const std::string number = absl::StrCat(unknown.field(0).number());
    return FieldError(Join(path, number), absl::StrCat("this server does not know field ", number,
                                                       " of ", message.GetDescriptor()->full_name(),
                                                       " (it is older than its client)"));
  }
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    const std::string name = Join(path, field->name());
    if (!field->is_repeated()) {
      PLAIT_RETURN_IF_ERROR(CheckFieldsKnown(name, reflection.GetMessage(message, field)));
      continue;
    }
    // Entries of maps are messages here.
    for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
      PLAIT_RETURN_IF_ERROR(
          CheckFieldsKnown(name, reflection.GetRepeatedMessage(message, field, i)));
    }
  }
  return absl::OkStatus();
}

}  // namespace plait::wire
