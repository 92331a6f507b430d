#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <gtest/gtest.h>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace plait {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptor;
using google::protobuf::MethodDescriptor;
using google::protobuf::SourceLocation;

bool IsLowerSnake(const std::string& name) {
  for (const char c : name) {
    if (!absl::ascii_islower(c) && !absl::ascii_isdigit(c) && c != '_') return false;
  }
  return !name.empty() && absl::ascii_islower(name[0]) && !absl::StrContains(name, "__");
}

// "JobState" is "JOB_STATE".
std::string UpperSnake(const std::string& camel) {
  std::string upper;
  for (const char c : camel) {
    if (absl::ascii_isupper(c) && !upper.empty()) upper.push_back('_');
    upper.push_back(absl::ascii_toupper(c));
  }
  return upper;
}

template <typename Element>
std::string CommentOf(const Element& element) {
  SourceLocation location;
  if (!element.GetSourceLocation(&location)) return "";
  return location.leading_comments;
}

class ProtoStyleTest : public testing::Test {
 protected:
  ProtoStyleTest() {
    google::protobuf::FileDescriptorSet set;
    std::ifstream stream(PLAIT_DESCRIPTORS, std::ios::binary);
    EXPECT_TRUE(set.ParseFromIstream(&stream)) << PLAIT_DESCRIPTORS;
    // Imports come before those who import them.
    for (const auto& proto : set.file()) {
      const FileDescriptor* file = pool_.BuildFile(proto);
      EXPECT_NE(file, nullptr) << proto.name();
      if (file != nullptr && absl::StartsWith(proto.name(), "plait/")) files_.push_back(file);
    }
    for (const FileDescriptor* file : files_) {
      for (int index = 0; index < file->message_type_count(); ++index) {
        AddMessage(file->message_type(index));
      }
      for (int index = 0; index < file->enum_type_count(); ++index) {
        enums_.push_back(file->enum_type(index));
      }
      for (int index = 0; index < file->service_count(); ++index) {
        const auto* service = file->service(index);
        for (int method = 0; method < service->method_count(); ++method) {
          methods_.push_back(service->method(method));
        }
      }
    }
  }

  void AddMessage(const Descriptor* message) {
    if (message->options().map_entry()) return;
    messages_.push_back(message);
    for (int index = 0; index < message->nested_type_count(); ++index) {
      AddMessage(message->nested_type(index));
    }
    for (int index = 0; index < message->enum_type_count(); ++index) {
      enums_.push_back(message->enum_type(index));
    }
  }

  google::protobuf::DescriptorPool pool_;
  std::vector<const FileDescriptor*> files_;
  std::vector<const Descriptor*> messages_;
  std::vector<const EnumDescriptor*> enums_;
  std::vector<const MethodDescriptor*> methods_;
};

TEST_F(ProtoStyleTest, FindsEveryPart) {
  EXPECT_EQ(files_.size(), 19u);
  EXPECT_GE(methods_.size(), 14u);
  EXPECT_GE(enums_.size(), 5u);
}

TEST_F(ProtoStyleTest, PackageIsTheDirectory) {
  for (const FileDescriptor* file : files_) {
    const std::string folder = file->name().substr(0, file->name().rfind('/'));
    EXPECT_EQ(file->package(), absl::StrReplaceAll(folder, {{"/", "."}})) << file->name();
  }
}

// What clients see needs neither the workers' nor the operators' contract, and the search child's
// is nobody else's.
TEST_F(ProtoStyleTest, NoPackageDependsOnOneThatFewerMaySee) {
  for (const FileDescriptor* file : files_) {
    for (int index = 0; index < file->dependency_count(); ++index) {
      const std::string& other = file->dependency(index)->package();
      if (!absl::StartsWith(other, "plait.") || other == file->package()) continue;
      const bool is_child_of_worker =
          file->package() == "plait.internal" && other == "plait.worker.v1";
      EXPECT_TRUE(other == "plait.v1" || is_child_of_worker) << file->name() << " needs " << other;
    }
  }
}

TEST_F(ProtoStyleTest, SaysStateAndNotStatus) {
  for (const FileDescriptor* file : files_) {
    for (int index = 0; index < file->service_count(); ++index) {
      EXPECT_TRUE(absl::EndsWith(file->service(index)->name(), "Service"));
    }
  }
  for (const MethodDescriptor* method : methods_) {
    EXPECT_FALSE(absl::StrContains(method->name(), "Status")) << method->full_name();
  }
  for (const EnumDescriptor* type : enums_) {
    EXPECT_FALSE(absl::StrContains(type->name(), "Status")) << type->full_name();
  }
  for (const Descriptor* message : messages_) {
    // Its names are not ours to choose.
    if (message->file()->name() == "plait/internal/rpc_status.proto") continue;
    EXPECT_FALSE(absl::StrContains(message->name(), "Status")) << message->full_name();
    for (int index = 0; index < message->field_count(); ++index) {
      const auto* field = message->field(index);
      EXPECT_FALSE(absl::StrContains(field->name(), "status")) << field->full_name();
    }
  }
}

TEST_F(ProtoStyleTest, EnumValuesCarryTheirPrefixAndZeroIsUnspecified) {
  for (const EnumDescriptor* type : enums_) {
    const std::string prefix = UpperSnake(type->name()) + "_";
    for (int index = 0; index < type->value_count(); ++index) {
      const auto* value = type->value(index);
      EXPECT_TRUE(absl::StartsWith(value->name(), prefix)) << value->full_name();
    }
    const auto* zero = type->FindValueByNumber(0);
    ASSERT_NE(zero, nullptr) << type->full_name();
    EXPECT_EQ(zero->name(), prefix + "UNSPECIFIED");
  }
}

TEST_F(ProtoStyleTest, EachRpcHasARequestAndAResponseOfItsOwn) {
  std::map<const Descriptor*, std::string> users;
  for (const MethodDescriptor* method : methods_) {
    EXPECT_EQ(method->input_type()->name(), method->name() + "Request");
    EXPECT_EQ(method->output_type()->name(), method->name() + "Response");
    for (const Descriptor* type : {method->input_type(), method->output_type()}) {
      EXPECT_TRUE(users.emplace(type, method->full_name()).second)
          << type->full_name() << " is used by " << users[type] << " and " << method->full_name();
    }
  }
}

TEST_F(ProtoStyleTest, EachRpcListsItsErrors) {
  for (const MethodDescriptor* method : methods_) {
    EXPECT_TRUE(absl::StrContains(CommentOf(*method), "Errors:\n")) << method->full_name();
  }
}

TEST_F(ProtoStyleTest, FieldsAreLowerSnake) {
  for (const Descriptor* message : messages_) {
    for (int index = 0; index < message->field_count(); ++index) {
      const auto* field = message->field(index);
      EXPECT_TRUE(IsLowerSnake(field->name())) << field->full_name();
    }
  }
}

TEST_F(ProtoStyleTest, NumbersWithADimensionNameTheirUnit) {
  for (const Descriptor* message : messages_) {
    for (int index = 0; index < message->field_count(); ++index) {
      const std::string& name = message->field(index)->name();
      for (const char* quantity : {"latency", "duration", "timeout", "budget", "deadline"}) {
        if (message->field(index)->message_type() != nullptr) continue;
        if (message->field(index)->cpp_type() == FieldDescriptor::CPPTYPE_BOOL) continue;
        if (!absl::StartsWith(name, quantity)) continue;
        EXPECT_TRUE(absl::StrContains(name, "_us") || absl::StrContains(name, "_seconds") ||
                    absl::StrContains(name, "_ms"))
            << message->field(index)->full_name();
      }
    }
  }
}

// As AIP-142 has it: create_time, not created_at.
TEST_F(ProtoStyleTest, TimesAreNamedAfterWhatHappensThen) {
  for (const Descriptor* message : messages_) {
    for (int index = 0; index < message->field_count(); ++index) {
      const auto* field = message->field(index);
      const Descriptor* type = field->message_type();
      if (type == nullptr || type->full_name() != "google.protobuf.Timestamp") continue;
      EXPECT_TRUE(field->name() == "time" || absl::EndsWith(field->name(), "_time"))
          << field->full_name();
    }
  }
}

TEST_F(ProtoStyleTest, EnumsAndServicesAreDocumented) {
  for (const EnumDescriptor* type : enums_) {
    EXPECT_FALSE(CommentOf(*type).empty()) << type->full_name();
  }
  for (const FileDescriptor* file : files_) {
    for (int index = 0; index < file->service_count(); ++index) {
      EXPECT_FALSE(CommentOf(*file->service(index)).empty()) << file->service(index)->full_name();
    }
  }
}

}  // namespace
}  // namespace plait
