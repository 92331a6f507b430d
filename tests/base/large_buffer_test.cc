#include "base/large_buffer.h"

#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace plait {
namespace {

TEST(LargeBufferTest, KeepsItsBytesWhenItMoves) {
  absl::StatusOr<LargeBuffer> buffer = LargeBuffer::Allocate(5 << 20);
  ASSERT_TRUE(buffer.ok()) << buffer.status();
  const char* const place = buffer->data();
  EXPECT_EQ(buffer->bytes(), std::string(5 << 20, '\0'));
  buffer->data()[5 << 19] = 'x';
  LargeBuffer moved = *std::move(buffer);
  LargeBuffer other;
  other = std::move(moved);
  EXPECT_EQ(other.data(), place);
  EXPECT_EQ(other.size(), 5u << 20);
  EXPECT_EQ(other.bytes()[5 << 19], 'x');
}

TEST(LargeBufferTest, MayHaveNoBytes) {
  const absl::StatusOr<LargeBuffer> buffer = LargeBuffer::Allocate(0);
  ASSERT_TRUE(buffer.ok()) << buffer.status();
  EXPECT_EQ(buffer->bytes(), "");
}

TEST(LargeBufferTest, SaysWhenTheSystemHasNotAsMuch) {
  EXPECT_TRUE(absl::IsResourceExhausted(LargeBuffer::Allocate(int64_t{1} << 62).status()));
}

}  // namespace
}  // namespace plait
