#include "gpu_worker/simulated_gpu/tensor_memory.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "gtest/gtest.h"

namespace plait::simulated_gpu {
namespace {

void WriteFloats(DeviceMemory* memory, uint64_t address, const std::vector<float>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  ASSERT_TRUE(memory->Write(address, bytes).ok());
}

TEST(TensorMemoryTest, GivesElementsInTheOrderOfSizes) {
  DeviceMemory memory;
  const uint64_t address = memory.Allocate("x", 24);
  WriteFloats(&memory, address, {0, 1, 2, 3, 4, 5});
  // [2, 3] whose columns lie one after another.
  const TensorPlace place = {.name = "x", .address = address, .sizes = {2, 3}, .strides = {1, 2}};
  EXPECT_EQ(ReadTensor(place, &memory).value(), (std::vector<double>{0, 2, 4, 1, 3, 5}));
  ASSERT_TRUE(WriteTensor(place, {10, 12, 14, 11, 13, 15}, &memory).ok());
  const TensorPlace flat = {.name = "x", .address = address, .sizes = {6}, .strides = {1}};
  EXPECT_EQ(ReadTensor(flat, &memory).value(), (std::vector<double>{10, 11, 12, 13, 14, 15}));
}

TEST(TensorMemoryTest, StridesOfZeroRepeatAndAreOnlyRead) {
  DeviceMemory memory;
  const uint64_t address = memory.Allocate("x", 8);
  WriteFloats(&memory, address, {7, 8});
  const TensorPlace place = {.name = "x", .address = address, .sizes = {2, 2}, .strides = {0, 1}};
  EXPECT_EQ(ReadTensor(place, &memory).value(), (std::vector<double>{7, 8, 7, 8}));
  EXPECT_EQ(WriteTensor(place, {1, 2, 3, 4}, &memory).code(), absl::StatusCode::kInvalidArgument);
}

// What lies between the elements is another's.
TEST(TensorMemoryTest, TouchesItsElementsAlone) {
  Touches touches;
  AddReads({.name = "x", .address = 1024, .sizes = {2, 2, 4}, .strides = {64, 16, 1}}, &touches);
  ASSERT_EQ(touches.reads().size(), 4U);
  EXPECT_EQ(touches.reads()[0].begin, 1024U);
  EXPECT_EQ(touches.reads()[0].end, 1040U);
  EXPECT_EQ(touches.reads()[1].begin, 1088U);
  EXPECT_EQ(touches.reads()[3].end, 1024U + 4 * (64 + 16 + 4));
  Touches dense;
  AddWrites({.name = "y", .address = 0, .sizes = {2, 3, 4}, .strides = {12, 1, 3}}, &dense);
  ASSERT_EQ(dense.writes().size(), 1U);
  EXPECT_EQ(dense.writes()[0].end, 96U);
}

// Windows of four elements, each two behind the one before, of an operand that repeats.
TEST(TensorMemoryTest, TouchesAllOfRowsThatOverlap) {
  Touches touches;
  AddReads({.name = "x", .address = 0, .sizes = {5, 3, 4}, .strides = {0, 2, 1}}, &touches);
  uint64_t end = 0;
  for (const ByteRange& read : touches.reads()) {
    EXPECT_LE(read.begin, end);
    end = std::max(end, read.end);
  }
  EXPECT_EQ(end, 32U);
}

TEST(TensorMemoryTest, RefusesWhatADeviceWouldDoByLuck) {
  DeviceMemory memory;
  const uint64_t address = memory.Allocate("x", 16);
  TensorPlace place = {.name = "operand", .address = address, .sizes = {4}, .strides = {1}};
  const absl::Status unwritten = ReadTensor(place, &memory).status();
  EXPECT_EQ(unwritten.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(unwritten.message().find("operand"), absl::string_view::npos) << unwritten;
  place.sizes = {5};
  EXPECT_EQ(ReadTensor(place, &memory).status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(WriteTensor(place, {1, 2, 3, 4, 5}, &memory).code(), absl::StatusCode::kOutOfRange);
  place.sizes = {3};
  place.address += 4;
  place.alignment_bytes = 8;
  EXPECT_EQ(ReadTensor(place, &memory).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(TensorMemoryTest, RoundsToTheElementsType) {
  DeviceMemory memory;
  const uint64_t address = memory.Allocate("x", 8);
  const double third = 1.0 / 3;
  for (const auto& [type, bits] : {std::pair(ElementType::kFloat, 24),
                                   {ElementType::kHalf, 11},
                                   {ElementType::kBfloat16, 8},
                                   {ElementType::kDouble, 53}}) {
    const TensorPlace place = {
        .name = "x", .address = address, .sizes = {1}, .strides = {1}, .type = type};
    ASSERT_TRUE(WriteTensor(place, {third}, &memory).ok());
    const double read = ReadTensor(place, &memory).value()[0];
    EXPECT_LE(std::abs(read - third), std::ldexp(third, -bits)) << bits;
    EXPECT_EQ(read == third, type == ElementType::kDouble) << bits;
  }
}

}  // namespace
}  // namespace plait::simulated_gpu
