#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/digest.h"
#include "base/large_buffer.h"
#include "optimizer/ir/tensor_type.h"
#include "optimizer/onnx/import.h"
#include "optimizer/onnx/messages/protobuf_fields.h"
#include "tests/optimizer/onnx/model_text.h"

namespace plait {
namespace {

LargeBuffer BufferOf(absl::string_view bytes) {
  absl::StatusOr<LargeBuffer> buffer = LargeBuffer::Allocate(static_cast<int64_t>(bytes.size()));
  EXPECT_TRUE(buffer.ok()) << buffer.status();
  bytes.copy(buffer->data(), bytes.size());
  return *std::move(buffer);
}

// Sizes tell them apart.
const TensorType kWeights[] = {{DataType::kFloat32, {300}},
                               {DataType::kUint8, {1301}},
                               {DataType::kFloat16, {701}},
                               {DataType::kFloat64, {200}},
                               {DataType::kInt64, {201}}};

// Weights of several types, which lie at any offset: each behind a name of another length.
std::string ManyWeights(size_t name_bytes) {
  return GraphBytes(13, "g (float[300] x) => (float[300] y) { y = Add(x, w) }", [&](auto* proto) {
    auto* const graph = proto->mutable_graph();
    *graph->add_initializer() = FloatTensor("w", {300});
    for (const TensorType& type : kWeights) {
      if (type.dtype == DataType::kFloat32) continue;
      auto* const weight = graph->add_initializer();
      weight->set_name(
          std::string(name_bytes, static_cast<char>('A' + static_cast<int>(type.dtype))));
      weight->set_data_type(static_cast<int>(type.dtype));
      weight->add_dims(type.shape[0]);
      weight->set_raw_data(std::string(static_cast<size_t>(type.bytes()), 'y'));
      weight->mutable_raw_data()->back() = 'z';
    }
    // What the IR does not hold stays where it lies.
    auto* const text = graph->add_initializer();
    text->set_name("text");
    text->set_data_type(onnx::TensorProto::STRING);
    text->set_raw_data(std::string(1500, 't'));
  });
}

TEST(ImportInPlaceTest, LeavesWeightsWhereTheyLieAndMovesThemToWholeElements) {
  for (size_t name_bytes = 1; name_bytes < 20; ++name_bytes) {
    SCOPED_TRACE(name_bytes);
    const std::string bytes = ManyWeights(name_bytes);
    const absl::StatusOr<Model> copied = ImportOnnx(bytes);
    ASSERT_TRUE(copied.ok()) << copied.status();
    LargeBuffer buffer = BufferOf(bytes);
    const char* const begin = buffer.data();
    const absl::StatusOr<Model> model = ImportOnnx(std::move(buffer), 3);
    ASSERT_TRUE(model.ok()) << model.status();
    const std::vector<Digest> digests = model->weights().digests();
    ASSERT_EQ(digests, copied->weights().digests());
    ASSERT_EQ(digests.size(), std::size(kWeights));
    for (const TensorType& type : kWeights) {
      const auto digest = std::find_if(digests.begin(), digests.end(), [&](const Digest& one) {
        return one.size_bytes == type.bytes();
      });
      ASSERT_NE(digest, digests.end()) << type.ToString();
      const absl::StatusOr<Tensor> weight = model->weights().Get(*digest, type);
      ASSERT_TRUE(weight.ok()) << weight.status();
      EXPECT_EQ(DigestOf(weight->bytes()), *digest);
      const char* const data = weight->bytes().data();
      EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % static_cast<uintptr_t>(BytesOf(type.dtype)),
                0u);
      EXPECT_TRUE(data >= begin && data < begin + bytes.size()) << type.ToString();
    }
  }
}

// Packed numbers end where the next tensor's elements may begin, in as few bytes as a header takes.
TEST(ImportInPlaceTest, KeepsWeightsThatLieCloseToEachOther) {
  std::string model = GraphBytes(
      13, "g (float[300] x) => (float[300] y) { y = Add(x, w) }",
      [](auto* proto) { *proto->mutable_graph()->add_initializer() = FloatTensor("w", {300}); });
  std::string graph;
  std::vector<std::string> elements;
  for (char digit = '0'; digit <= '9'; ++digit) {
    // The elements come first in their tensor, and nothing after them but type, shape and name.
    std::string tensor;
    elements.emplace_back(8 * 200, digit);
    AppendLengthDelimited(9, elements.back(), &tensor);
    tensor += std::string("\x10\x0b", 2);  // data_type DOUBLE
    tensor += std::string("\x08\xc8\x01", 3);
    AppendLengthDelimited(8, std::string(static_cast<size_t>(digit - '0' + 1), digit), &tensor);
    AppendLengthDelimited(5, tensor, &graph);
  }
  AppendLengthDelimited(7, graph, &model);
  const absl::StatusOr<Model> imported = ImportOnnx(BufferOf(model), 2);
  ASSERT_TRUE(imported.ok()) << imported.status();
  for (const std::string& bytes : elements) {
    const auto weight = imported->weights().Get(DigestOf(bytes), {DataType::kFloat64, {200}});
    ASSERT_TRUE(weight.ok()) << weight.status();
    EXPECT_EQ(weight->bytes(), bytes);
  }
}

TEST(ImportInPlaceTest, RefusesBytesThatItTakesOverAsItRefusesOthers) {
  EXPECT_EQ(ImportOnnx(BufferOf(""), 2).status(), ImportOnnx("").status());
  EXPECT_EQ(ImportOnnx(BufferOf("\x3a\x05x"), 2).status(), ImportOnnx("\x3a\x05x").status());
}

}  // namespace
}  // namespace plait
