#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <gtest/gtest.h>

#include "optimizer/onnx/messages/read_message.h"
#include "optimizer/onnx/messages/write_message.h"
#include "tests/optimizer/onnx/messages/whole_model.h"

// What is read and written again is what libonnx says that it was.
namespace plait {
namespace {

namespace fs = std::filesystem;

std::string Deterministic(const google::protobuf::Message& message) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  EXPECT_TRUE(message.SerializePartialToCodedStream(&coded));
  return bytes;
}

template <typename Message>
absl::StatusOr<Message> ReadAny(absl::string_view bytes) {
  return ReadMessage<Message>(bytes, "the message");
}
template <>
absl::StatusOr<onnx::ModelProto> ReadAny(absl::string_view bytes) {
  return ReadModel(bytes);
}

// `Ours` and `Theirs` are the same message of onnx.proto.
template <typename Ours, typename Theirs>
void ExpectRoundTrip(const std::string& bytes) {
  Theirs given;
  ASSERT_TRUE(given.ParseFromString(bytes));
  const absl::StatusOr<Ours> message = ReadAny<Ours>(bytes);
  ASSERT_TRUE(message.ok()) << message.status();
  const absl::StatusOr<std::string> written = WriteMessage(*message, "the message");
  ASSERT_TRUE(written.ok()) << written.status();
  Theirs again;
  ASSERT_TRUE(again.ParseFromString(*written));
  EXPECT_TRUE(Deterministic(again) == Deterministic(given));
  // Not only in meaning, where protobuf wrote the file.
  EXPECT_TRUE(*written == bytes || Deterministic(given) != bytes);
}

std::string ReadFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

TEST(RoundTripTest, EveryPublishedFile) {
  const fs::path root = "/usr/share/libonnx-testdata/data";
  std::error_code error;
  int models = 0;
  int tensors = 0;
  for (const auto& entry : fs::recursive_directory_iterator(root, error)) {
    SCOPED_TRACE(entry.path());
    const std::string extension = entry.path().extension();
    if (extension != ".onnx" && extension != ".pb") continue;
    const std::string bytes = ReadFile(entry.path());
    if (extension == ".onnx") {
      ExpectRoundTrip<onnx::ModelProto, ::onnx::ModelProto>(bytes);
      ++models;
      continue;
    }
    // Some files hold a sequence or an optional value, which is no TensorProto.
    ::onnx::TensorProto tensor;
    if (!tensor.ParseFromString(bytes) || tensor.data_type() == 0) continue;
    ExpectRoundTrip<onnx::TensorProto, ::onnx::TensorProto>(bytes);
    ++tensors;
  }
  if (models == 0) GTEST_SKIP() << root << " holds no models (install libonnx-testdata)";
  EXPECT_GT(models, 1000);
  EXPECT_GT(tensors, 2000);
}

TEST(RoundTripTest, EveryFieldThatOnnxHas) {
  const std::string bytes = WholeModel(false).SerializeAsString();
  EXPECT_GT(bytes.size(), 50'000u);
  ExpectRoundTrip<onnx::ModelProto, ::onnx::ModelProto>(bytes);
}

TEST(RoundTripTest, FieldsThatOnnxDoesNotHaveYet) {
  ExpectRoundTrip<onnx::ModelProto, ::onnx::ModelProto>(WholeModel(true).SerializeAsString());
}

TEST(RoundTripTest, FieldsOfNewerVersionsStandInTheirPlaces) {
  // A node with an overload (8), metadata (9) and a device configuration (10).
  const std::string node("\x22\x01R\x3a\x01\x64\x42\x01v\x4a\x00\x52\x02\x18\x01", 15);
  const auto message = ReadMessage<onnx::NodeProto>(node, "node");
  ASSERT_TRUE(message.ok()) << message.status();
  EXPECT_EQ(message->overload(), "v");
  EXPECT_EQ(*WriteMessage(*message, "node"), node);
}

TEST(RoundTripTest, FieldsThatArePresentWithoutAValue) {
  // An empty name, an i of 0, an empty graph, no packed floats.
  const std::string attribute("\x0a\x00\x18\x00\x32\x00\x2a\x02\x22\x00", 10);
  const auto message = ReadMessage<onnx::AttributeProto>(attribute, "attribute");
  ASSERT_TRUE(message.ok()) << message.status();
  EXPECT_TRUE(message->name.has());
  EXPECT_TRUE(message->i.has());
  EXPECT_TRUE(message->g.has());
  EXPECT_FALSE(message->f.has());
  // A list without elements is absent.
  EXPECT_EQ(*WriteMessage(*message, "attribute"),
            std::string("\x0a\x00\x18\x00\x2a\x00\x32\x00", 8));
}

}  // namespace
}  // namespace plait
