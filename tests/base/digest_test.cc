#include "base/digest.h"

#include "gtest/gtest.h"

namespace plait {
namespace {

// FIPS 180-2, appendix B.1.
constexpr char kAbc[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

TEST(DigestTest, IsSha256AndSize) {
  EXPECT_EQ(DigestOf("abc").sha256_hex, kAbc);
  EXPECT_EQ(DigestOf("abc").size_bytes, 3);
}

TEST(DigestTest, DoesNotDependOnTheSizeOfPieces) {
  DigestBuilder builder;
  builder.Update("a");
  builder.Update("");
  builder.Update("bc");
  EXPECT_EQ(builder.Finish(), DigestOf("abc"));
}

TEST(DigestTest, ParsesWhatItPrints) {
  const Digest digest = DigestOf("abc");
  const absl::StatusOr<Digest> parsed = Digest::Parse(digest.ToString());
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(*parsed, digest);
}

TEST(DigestTest, RefusesMalformedText) {
  const std::string hex = kAbc;
  for (const std::string& text : {std::string(), hex, hex + "/", hex + "/-1", hex + "/x", hex + "3",
                                  hex.substr(1) + "/3", "BA" + hex.substr(2) + "/3",
                                  "zz" + hex.substr(2) + "/3", hex + "/99999999999999999999999"}) {
    EXPECT_EQ(Digest::Parse(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

}  // namespace
}  // namespace plait
