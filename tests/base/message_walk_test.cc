#include "base/message_walk.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace plait {
namespace {

using google::protobuf::DescriptorProto;
using google::protobuf::FileDescriptorProto;
using testing::ElementsAre;
using testing::HasSubstr;

// Notes what it is told, and refuses the field "stop".
class Recorder final : public MessageVisitor {
 public:
  absl::Status Field(const SerializedField& field) override {
    const std::string name = field.known == nullptr ? "unknown" : field.known->name();
    if (name == "stop") return absl::CancelledError("stop");
    seen.push_back(absl::StrCat(name, " ", field.payload_bytes, " ", field.packed_numbers));
    return absl::OkStatus();
  }
  absl::Status Enter(const google::protobuf::Descriptor& type) override {
    seen.push_back(absl::StrCat("{ ", type.name()));
    return absl::OkStatus();
  }
  void Leave(const google::protobuf::Descriptor&) override { seen.push_back("}"); }

  std::vector<std::string> seen;
};

// Given to the walker `block` bytes at a time, as they come from a network.
absl::Status Walk(const google::protobuf::Message& type, absl::string_view bytes,
                  Recorder& recorder, int block = 3) {
  const int size = static_cast<int>(bytes.size());
  google::protobuf::io::ArrayInputStream stream(bytes.data(), size, block);
  return WalkMessage(*type.GetDescriptor(), stream, size, recorder);
}

TEST(MessageWalkTest, TellsFieldsAndMessagesInTheirOrder) {
  FileDescriptorProto file;
  file.set_name("plait.proto");
  file.add_message_type()->set_name("M");
  file.add_public_dependency(300);
  Recorder recorder;
  ASSERT_TRUE(Walk(file, file.SerializeAsString(), recorder).ok());
  EXPECT_THAT(recorder.seen,
              ElementsAre("{ FileDescriptorProto", "name 11 0", "message_type 3 0",
                          "{ DescriptorProto", "name 1 0", "}", "public_dependency 0 0", "}"));
}

TEST(MessageWalkTest, CountsNumbersThatArePacked) {
  google::protobuf::SourceCodeInfo info;
  auto* location = info.add_location();
  for (const int number : {1, 300, 7}) location->add_path(number);
  Recorder recorder;
  ASSERT_TRUE(Walk(info, info.SerializeAsString(), recorder).ok());
  EXPECT_THAT(recorder.seen,
              ElementsAre("{ SourceCodeInfo", "location 6 0", "{ Location", "path 4 3", "}", "}"));
}

TEST(MessageWalkTest, WhatAParserKeepsAsUnknownIsUnknown) {
  // A name that is a number, a syntax that is four bytes, and field 1000.
  const absl::string_view bytes("\x08\x05\x65\x01\x02\x03\x04\xc2\x3e\x01\x0a", 11);
  FileDescriptorProto parsed;
  ASSERT_TRUE(parsed.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())));
  EXPECT_EQ(parsed.unknown_fields().field_count(), 3);
  Recorder recorder;
  ASSERT_TRUE(Walk(parsed, bytes, recorder).ok());
  EXPECT_THAT(recorder.seen, ElementsAre("{ FileDescriptorProto", "unknown 0 0", "unknown 0 0",
                                         "unknown 1 0", "}"));
}

TEST(MessageWalkTest, RefusesBytesThatAreNoMessage) {
  const std::pair<absl::string_view, absl::string_view> kCases[] = {
      {absl::string_view("\x00\x01", 2), "field tag"},
      {"\xff\xff\xff\xff\xff\xff", "field tag"},
      {"\x50", "unreadable number"},
      {"\x51\x01", "unreadable number"},
      {"\x0a\x05xx", "beyond the end"},
      {"\x0a\xff\xff\xff\xff\x0f", "beyond the end"},
      {"\x0b\x0c", "wire type 3"},
      // The name of the message in it is longer than that.
      {"\x22\x03\x0a\x05xabcdef", "beyond the end"},
  };
  for (const auto& [bytes, words] : kCases) {
    Recorder recorder;
    const absl::Status status = Walk(FileDescriptorProto(), bytes, recorder);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << words << ": " << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(std::string(words)));
  }
}

TEST(MessageWalkTest, StopsAtNestingThatNoParserTakes) {
  std::string bytes;
  for (int depth = 0; depth < 101; ++depth) {
    DescriptorProto outer;
    EXPECT_TRUE(outer.add_nested_type()->ParsePartialFromString(bytes));
    bytes = outer.SerializePartialAsString();
  }
  Recorder recorder;
  EXPECT_TRUE(absl::IsResourceExhausted(Walk(DescriptorProto(), bytes, recorder, 4096)));
}

}  // namespace
}  // namespace plait
