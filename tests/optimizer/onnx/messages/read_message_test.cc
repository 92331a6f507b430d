#include "optimizer/onnx/messages/read_message.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/limits.h"
#include "optimizer/onnx/messages/protobuf_fields.h"
#include "optimizer/onnx/messages/protobuf_limits.h"
#include "optimizer/onnx/messages/write_message.h"
#include "tests/optimizer/onnx/messages/whole_model.h"

namespace plait {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string Delimited(int number, absl::string_view payload) {
  std::string bytes;
  AppendLengthDelimited(number, payload, &bytes);
  return bytes;
}

onnx::TensorProto ReadTensor(const std::string& bytes) {
  const auto tensor = ReadMessage<onnx::TensorProto>(bytes, "tensor");
  EXPECT_TRUE(tensor.ok()) << tensor.status();
  return tensor.ok() ? *tensor : onnx::TensorProto();
}

void ExpectRefused(const absl::Status& status, absl::StatusCode code, const std::string& what) {
  EXPECT_EQ(status.code(), code) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(what));
}

TEST(ReadMessageTest, NumbersMayBePackedOrNot) {
  // dims 1 and 2, then 300 and -1 in one field; one float in each form.
  std::string bytes("\x08\x01\x08\x02", 4);
  bytes += Delimited(1, "\xac\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
  bytes += std::string("\x25\0\0\x80\x3f\x22\x04\0\0\0\x40", 11);
  const onnx::TensorProto tensor = ReadTensor(bytes);
  EXPECT_THAT(tensor.dims, ElementsAre(1, 2, 300, -1));
  EXPECT_THAT(tensor.float_data, ElementsAre(1.0f, 2.0f));
}

TEST(ReadMessageTest, TheLastOfARepeatedValueCountsAndMessagesMerge) {
  std::string bytes = Delimited(8, "first") + Delimited(8, "last");
  bytes += Delimited(3, std::string("\x08\x05", 2)) + Delimited(3, std::string("\x10\x07", 2));
  const onnx::TensorProto tensor = ReadTensor(bytes);
  EXPECT_EQ(tensor.name(), "last");
  EXPECT_EQ(tensor.segment().begin(), 5);
  EXPECT_EQ(tensor.segment().end(), 7);
}

TEST(ReadMessageTest, TwoModelsInARowAreOne) {
  ::onnx::ModelProto small;
  FillMessage(&small, 3);
  const std::string twice = small.SerializeAsString() + small.SerializeAsString();
  ::onnx::ModelProto merged;
  ASSERT_TRUE(merged.ParseFromString(twice));
  const auto model = ReadModel(twice);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_TRUE(*WriteMessage(*model, "model") == merged.SerializeAsString());
}

TEST(ReadMessageTest, OfWhatExcludesEachOtherTheLastCounts) {
  const std::string both = std::string("\x08\x04", 2) + Delimited(2, "batch");
  const std::string shape = Delimited(1, both);
  const std::string tensor = Delimited(1, Delimited(2, shape));
  const std::string value = Delimited(2, Delimited(4, "") + tensor);
  const auto model = ReadModel(Delimited(7, Delimited(11, value)));
  ASSERT_TRUE(model.ok()) << model.status();
  const onnx::TypeProto& type = model->graph().input.at(0).type();
  EXPECT_FALSE(type.sequence_type.has());
  const auto& dimension = type.tensor_type().shape().dim.at(0);
  EXPECT_FALSE(dimension.dim_value.has());
  EXPECT_EQ(dimension.dim_param(), "batch");
}

TEST(ReadMessageTest, AFieldInAnotherFormIsUnknown) {
  // A name that is a number, and a type that is a text.
  const std::string bytes = Delimited(2, "float") + std::string("\x40\x07", 2);
  const onnx::TensorProto tensor = ReadTensor(bytes);
  EXPECT_FALSE(tensor.name.has());
  EXPECT_FALSE(tensor.data_type.has());
  EXPECT_EQ(*WriteMessage(tensor, "tensor"), bytes);
}

TEST(ReadMessageTest, TruncatedModelsAreReadWhereProtobufReadsThem) {
  ::onnx::ModelProto small;
  FillMessage(&small, 3);
  const std::string bytes = small.SerializeAsString();
  int refused = 0;
  for (size_t size = 1; size < bytes.size(); ++size) {
    const std::string start = bytes.substr(0, size);
    const auto model = ReadModel(start);
    EXPECT_EQ(model.ok(), ::onnx::ModelProto().ParseFromString(start)) << size;
    if (model.ok()) continue;
    ++refused;
    ASSERT_TRUE(absl::IsInvalidArgument(model.status())) << model.status();
  }
  EXPECT_GT(refused, 1000);
}

TEST(ReadMessageTest, RefusesWhatIsNoMessage) {
  const auto read = [](const std::string& bytes) {
    return ReadMessage<onnx::TensorProto>(bytes, "tensor").status();
  };
  const auto kInvalid = absl::StatusCode::kInvalidArgument;
  ExpectRefused(read("\x0b\x0c"), kInvalid, "tensor: unknown wire type 3");
  ExpectRefused(read(std::string("\x00\x00", 2)), kInvalid, "number out of range");
  ExpectRefused(read("\x42\x7f"), kInvalid, "beyond the end at offset");
  ExpectRefused(read(Delimited(7, "\x01\x80")), kInvalid, "end within a number");
  ExpectRefused(read(Delimited(4, "abc")), kInvalid, "end within a number");
  ExpectRefused(read("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), kInvalid,
                "unreadable integer");
}

TEST(ReadMessageTest, MessagesThatTakeMoreMemoryCountAsSeveralFields) {
  // Two bytes in the file, and the size of an attribute in memory.
  const std::string attribute = Delimited(5, "");
  std::string node;
  constexpr int64_t kAttributes = kModelFieldsMax / 2;
  for (int64_t i = 0; i < kAttributes; ++i) node += attribute;
  static_assert(sizeof(onnx::AttributeProto) >= kModelFieldBytes);
  ExpectRefused(CheckModelWire(Delimited(7, Delimited(1, node))),
                absl::StatusCode::kResourceExhausted, "more than 16000000 fields");
}

// Growing a list to its exact size for each of them would take hours.
TEST(ReadMessageTest, ManyShortListsAreReadInLinearTime) {
  std::string bytes;
  for (int i = 0; i < 1'000'000; ++i) bytes.append(Delimited(7, "\x01") + Delimited(4, "abcd"));
  const onnx::TensorProto tensor = ReadTensor(bytes);
  EXPECT_EQ(tensor.int64_data.size(), 1'000'000u);
  EXPECT_EQ(tensor.float_data.size(), 1'000'000u);
}

}  // namespace
}  // namespace plait
