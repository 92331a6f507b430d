#include "optimizer/onnx/packed_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"

namespace plait {
namespace {

constexpr int64_t kBytesMax = 1 << 20;

TEST(PackedTextTest, GivesTheTextBack) {
  for (const std::string& text :
       {std::string(), std::string("graph {}\n"), std::string(kBytesMax, 'x'),
        std::string("zero \0 and \xff", 12)}) {
    const absl::StatusOr<std::string> unpacked = UnpackText(PackText(text), kBytesMax);
    ASSERT_TRUE(unpacked.ok()) << unpacked.status();
    EXPECT_EQ(*unpacked, text);
  }
}

TEST(PackedTextTest, IsShortAndPrintable) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "%relu" + std::to_string(i) + ": float32[1,64,56,56]\n";
  const std::string packed = PackText(text);
  EXPECT_LT(packed.size(), text.size() / 4);
  for (const char c : packed) EXPECT_TRUE(c >= ' ' && c <= '~') << static_cast<int>(c);
}

TEST(PackedTextTest, HoldsNoMoreThanItIsAllowed) {
  const std::string packed = PackText(std::string(kBytesMax, 'x'));
  EXPECT_TRUE(UnpackText(packed, kBytesMax).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(UnpackText(packed, kBytesMax - 1).status()));
  EXPECT_TRUE(
      absl::IsResourceExhausted(UnpackText("zlib:" + std::string(4096, 'A'), 1000).status()));
}

TEST(PackedTextTest, RefusesWhatIsDamaged) {
  const std::string packed = PackText("some text that is long enough to be cut");
  // Of base 64 the last characters may only fill up.
  for (size_t size = 0; size + 4 <= packed.size(); ++size) {
    const absl::Status status = UnpackText(packed.substr(0, size), kBytesMax).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << size << ": " << status;
  }
  EXPECT_TRUE(absl::IsInvalidArgument(UnpackText("plain text", kBytesMax).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(UnpackText("zlib:" + packed, kBytesMax).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(UnpackText(packed + "AAAA", kBytesMax).status()));
}

}  // namespace
}  // namespace plait
