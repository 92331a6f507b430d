#include "client/files/npy.h"

#include <gtest/gtest.h>

namespace plait {
namespace {

std::string NpyWith(const std::string& header, const std::string& data) {
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes.push_back(static_cast<char>(header.size() & 0xFF));
  bytes.push_back(static_cast<char>(header.size() >> 8));
  return bytes + header + data;
}

TEST(NpyTest, RoundTripsEveryElementType) {
  for (const DataType dtype :
       {DataType::kFloat32, DataType::kFloat64, DataType::kFloat16, DataType::kInt8,
        DataType::kInt16, DataType::kInt32, DataType::kInt64, DataType::kUint8, DataType::kUint16,
        DataType::kUint32, DataType::kUint64, DataType::kBool}) {
    for (const Shape& shape : {Shape{}, Shape{3}, Shape{2, 3}, Shape{0, 4}}) {
      const TensorType type = {dtype, shape};
      std::string bytes(static_cast<size_t>(type.bytes()), '\0');
      for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i % 2);
      const Tensor tensor(type, bytes);
      const auto text = WriteNpy(tensor);
      ASSERT_TRUE(text.ok()) << text.status();
      const auto read = ReadNpy(*text);
      ASSERT_TRUE(read.ok()) << read.status();
      EXPECT_EQ(*read, tensor) << type.ToString();
    }
  }
}

TEST(NpyTest, WritesTheDataAtAMultipleOf64Bytes) {
  const auto text = WriteNpy(Tensor::ScalarFloat(1.5f));
  ASSERT_TRUE(text.ok());
  EXPECT_EQ((text->size() - sizeof(float)) % 64, 0u);
}

TEST(NpyTest, TurnsFortranOrderAround) {
  // Columns of [[1, 2, 3], [4, 5, 6]].
  const auto read = ReadNpy(NpyWith("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }\n",
                                    "\x01\x04\x02\x05\x03\x06"));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->AsInt64s(), (std::vector<int64_t>{1, 2, 3, 4, 5, 6}));
}

TEST(NpyTest, RefusesHostileFiles) {
  const std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }";
  EXPECT_TRUE(ReadNpy(NpyWith(good, "abcd")).ok());
  EXPECT_FALSE(ReadNpy("").ok());
  EXPECT_FALSE(ReadNpy("\x93NUMPY").ok());
  EXPECT_FALSE(ReadNpy(NpyWith(good, "abc")).ok());
  EXPECT_FALSE(ReadNpy(NpyWith(good, "abcde")).ok());
  for (const char* header :
       {"", "{}", "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }",
        "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }",
        "{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }",
        "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1, }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296, 4), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (x,), }",
        "{'descr': '<f4, 'fortran_order': False}"}) {
    EXPECT_FALSE(ReadNpy(NpyWith(header, "abcd")).ok()) << header;
  }
  std::string cut = NpyWith(good, "abcd");
  while (!cut.empty()) {
    cut.pop_back();
    EXPECT_FALSE(ReadNpy(cut).ok()) << cut.size();
  }
}

}  // namespace
}  // namespace plait
