#include <cstdlib>
#include <fstream>
#include <functional>
#include <set>
#include <string>

#include <google/protobuf/descriptor.pb.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

// plait.v1 may only grow: a client that was written against an earlier version must be understood.
// contract_v1.txt says what clients rely on, a line for each fact. PLAIT_UPDATE_GOLDEN=1 writes it
// anew: run it when something was added, and look at what it took away.

namespace plait {
namespace {

using google::protobuf::DescriptorProto;
using google::protobuf::EnumDescriptorProto;
using google::protobuf::FieldDescriptorProto;
using google::protobuf::FileDescriptorProto;
using google::protobuf::FileDescriptorSet;
using google::protobuf::MethodDescriptorProto;

// Sorted, so that the file changes only where the contract does.
using Facts = std::set<std::string>;

constexpr char kPackage[] = "plait.v1";

std::string TypeOf(const FieldDescriptorProto& field) {
  // "TYPE_INT32" or "TYPE_MESSAGE .plait.v1.Job".
  const std::string type = FieldDescriptorProto::Type_Name(field.type());
  return field.has_type_name() ? absl::StrCat(type, " ", field.type_name()) : type;
}

void AddEnum(const std::string& scope, const EnumDescriptorProto& type, Facts& facts) {
  for (const auto& value : type.value()) {
    facts.insert(
        absl::StrCat("value ", scope, ".", type.name(), " ", value.number(), " ", value.name()));
  }
}

void AddMessage(const std::string& scope, const DescriptorProto& message, Facts& facts) {
  const std::string name = absl::StrCat(scope, ".", message.name());
  facts.insert(absl::StrCat("message ", name));
  for (const FieldDescriptorProto& field : message.field()) {
    std::string fact =
        absl::StrCat("field ", name, " ", field.number(), " ", field.name(), " ",
                     FieldDescriptorProto::Label_Name(field.label()), " ", TypeOf(field));
    if (field.proto3_optional()) {
      absl::StrAppend(&fact, " with presence");
    } else if (field.has_oneof_index()) {
      absl::StrAppend(&fact, " in ", message.oneof_decl(field.oneof_index()).name());
    }
    facts.insert(std::move(fact));
  }
  for (const DescriptorProto& nested : message.nested_type()) AddMessage(name, nested, facts);
  for (const EnumDescriptorProto& nested : message.enum_type()) AddEnum(name, nested, facts);
}

std::string StreamOf(bool is_stream) { return is_stream ? "stream " : ""; }

// Everything in plait.v1 that a client's generated code is made of.
Facts FactsOf(const FileDescriptorSet& contract) {
  Facts facts;
  for (const FileDescriptorProto& file : contract.file()) {
    if (file.package() != kPackage) continue;
    for (const DescriptorProto& message : file.message_type()) {
      AddMessage(kPackage, message, facts);
    }
    for (const EnumDescriptorProto& type : file.enum_type()) AddEnum(kPackage, type, facts);
    for (const auto& service : file.service()) {
      for (const MethodDescriptorProto& method : service.method()) {
        facts.insert(absl::StrCat("rpc ", kPackage, ".", service.name(), ".", method.name(), " ",
                                  StreamOf(method.client_streaming()), method.input_type(),
                                  " returns ", StreamOf(method.server_streaming()),
                                  method.output_type()));
      }
    }
  }
  return facts;
}

// What was promised and is not so any more.
Facts Broken(const Facts& promised, const Facts& now) {
  Facts broken;
  for (const std::string& fact : promised) {
    if (!now.contains(fact)) broken.insert(fact);
  }
  return broken;
}

FileDescriptorSet Contract() {
  FileDescriptorSet contract;
  std::ifstream stream(PLAIT_DESCRIPTORS, std::ios::binary);
  EXPECT_TRUE(contract.ParseFromIstream(&stream)) << PLAIT_DESCRIPTORS;
  return contract;
}

TEST(CompatibilityTest, ClientsOfEarlierVersionsAreUnderstood) {
  const Facts now = FactsOf(Contract());
  if (std::getenv("PLAIT_UPDATE_GOLDEN") != nullptr) {
    std::ofstream file(PLAIT_CONTRACT_V1);
    for (const std::string& fact : now) file << fact << "\n";
  }
  Facts promised;
  std::ifstream file(PLAIT_CONTRACT_V1);
  for (std::string line; std::getline(file, line);) promised.insert(line);
  ASSERT_GT(promised.size(), 200u) << PLAIT_CONTRACT_V1;
  for (const std::string& fact : Broken(promised, now)) {
    ADD_FAILURE() << "a client relies on: " << fact;
  }
}

// The file that a small contract of one message, one enum and one service is in.
FileDescriptorSet SampleContract() {
  FileDescriptorSet contract;
  FileDescriptorProto& file = *contract.add_file();
  file.set_package(kPackage);
  DescriptorProto& message = *file.add_message_type();
  message.set_name("Shape");
  message.add_oneof_decl()->set_name("form");
  FieldDescriptorProto& field = *message.add_field();
  field.set_name("rank");
  field.set_number(1);
  field.set_type(FieldDescriptorProto::TYPE_INT32);
  field.set_label(FieldDescriptorProto::LABEL_OPTIONAL);
  message.add_nested_type()->set_name("Entry");
  EnumDescriptorProto& type = *file.add_enum_type();
  type.set_name("Kind");
  type.add_value()->set_name("KIND_UNSPECIFIED");
  MethodDescriptorProto& method = *file.add_service()->add_method();
  method.set_name("GetShape");
  method.set_input_type(".plait.v1.Shape");
  method.set_output_type(".plait.v1.Shape");
  return contract;
}

TEST(CompatibilityTest, SeesEveryChangeThatBreaksAClient) {
  const std::function<void(FileDescriptorProto&)> kChanges[] = {
      [](auto& file) { file.mutable_message_type(0)->set_name("Form"); },
      [](auto& file) { file.mutable_message_type(0)->clear_field(); },
      [](auto& file) { file.mutable_message_type(0)->clear_nested_type(); },
      [](auto& file) { file.mutable_message_type(0)->mutable_field(0)->set_name("dims"); },
      [](auto& file) { file.mutable_message_type(0)->mutable_field(0)->set_number(2); },
      [](auto& file) {
        file.mutable_message_type(0)->mutable_field(0)->set_type(FieldDescriptorProto::TYPE_INT64);
      },
      [](auto& file) {
        file.mutable_message_type(0)->mutable_field(0)->set_label(
            FieldDescriptorProto::LABEL_REPEATED);
      },
      [](auto& file) { file.mutable_message_type(0)->mutable_field(0)->set_oneof_index(0); },
      [](auto& file) { file.mutable_message_type(0)->mutable_field(0)->set_proto3_optional(true); },
      [](auto& file) { file.mutable_enum_type(0)->mutable_value(0)->set_name("KIND_NONE"); },
      [](auto& file) { file.mutable_enum_type(0)->mutable_value(0)->set_number(1); },
      [](auto& file) { file.clear_enum_type(); },
      [](auto& file) { file.mutable_service(0)->set_name("ShapeService"); },
      [](auto& file) { file.mutable_service(0)->mutable_method(0)->set_name("ReadShape"); },
      [](auto& file) { file.mutable_service(0)->mutable_method(0)->set_server_streaming(true); },
      [](auto& file) { file.mutable_service(0)->mutable_method(0)->set_input_type(".x.Y"); },
  };
  const FileDescriptorSet before = SampleContract();
  int number = 0;
  for (const auto& change : kChanges) {
    FileDescriptorSet after = before;
    change(*after.mutable_file(0));
    EXPECT_FALSE(Broken(FactsOf(before), FactsOf(after)).empty()) << number;
    ++number;
  }
}

TEST(CompatibilityTest, LetsTheContractGrow) {
  FileDescriptorSet after = SampleContract();
  FileDescriptorProto& file = *after.mutable_file(0);
  file.add_message_type()->set_name("Size");
  file.mutable_message_type(0)->add_field()->set_name("name");
  file.mutable_enum_type(0)->add_value()->set_name("KIND_DENSE");
  file.mutable_service(0)->add_method()->set_name("ListShapes");
  EXPECT_EQ(Broken(FactsOf(SampleContract()), FactsOf(after)), Facts());
}

}  // namespace
}  // namespace plait
