#include "optimizer/onnx/messages/tensor_file.h"

#include <gtest/gtest.h>

#include "tests/optimizer/onnx/model_text.h"

namespace plait {
namespace {

TEST(TensorFileTest, KeepsNameTypeAndValues) {
  const NamedTensor given{"input 0", Tensor::Of<float>({2, 2}, {1, -2, 0.5f, 4})};
  const absl::StatusOr<std::string> bytes = WriteTensorFile(given);
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  const absl::StatusOr<NamedTensor> read = ReadTensorFile(*bytes);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->name, given.name);
  EXPECT_EQ(read->tensor, given.tensor);
}

TEST(TensorFileTest, RefusesATruncatedFile) {
  const std::string bytes = FloatTensor("t", {4}).SerializeAsString();
  ASSERT_TRUE(ReadTensorFile(bytes).ok());
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(ReadTensorFile(bytes.substr(0, size)).ok());
  }
}

}  // namespace
}  // namespace plait
