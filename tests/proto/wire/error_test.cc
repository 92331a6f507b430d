#include "proto/wire/error.h"

#include <gtest/gtest.h>

#include "base/status_macros.h"

namespace plait::wire {
namespace {

TEST(WireErrorTest, EveryReasonHasACodeAndComesBack) {
  for (int number = 1; number <= v1::ErrorReason_MAX; ++number) {
    const auto reason = static_cast<v1::ErrorReason>(number);
    const absl::Status status = Error(reason, "what");
    EXPECT_NE(status.code(), absl::StatusCode::kUnknown) << v1::ErrorReason_Name(reason);
    EXPECT_EQ(ReasonOf(status), reason);
    const absl::Status again = StatusOf(ErrorDetailOf(status));
    EXPECT_EQ(again, status);
  }
}

TEST(WireErrorTest, KeepsTheReasonWhenALayerAddsAPhrase) {
  const absl::Status status = WithReason(absl::InternalError("x"), v1::ERROR_REASON_CRASHED);
  EXPECT_EQ(ReasonOf(status), v1::ERROR_REASON_CRASHED);
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
}

TEST(WireErrorTest, GuessesTheReasonFromTheCode) {
  EXPECT_EQ(ReasonOf(absl::InvalidArgumentError("")), v1::ERROR_REASON_INVALID_REQUEST);
  EXPECT_EQ(ReasonOf(absl::NotFoundError("")), v1::ERROR_REASON_NOT_FOUND);
  EXPECT_EQ(ReasonOf(absl::DeadlineExceededError("")), v1::ERROR_REASON_DEADLINE);
  EXPECT_EQ(ReasonOf(absl::UnknownError("")), v1::ERROR_REASON_INTERNAL);
}

TEST(WireErrorTest, MakesAnyBytesValidUtf8) {
  const struct {
    std::string text;
    std::string valid;
  } kCases[] = {
      {"", ""},
      {"plain", "plain"},
      {"\u00e4 \u20ac \U0001F600", "\u00e4 \u20ac \U0001F600"},
      {std::string("a\0b", 3), std::string("a\0b", 3)},
      {"\xff", "?"},
      {"\xc3", "?"},                 // cut in the middle
      {"\xc0\xaf", "??"},            // overlong
      {"\xe0\x80\x80", "???"},       // overlong
      {"\xed\xa0\x80", "???"},       // a surrogate
      {"\xf4\x90\x80\x80", "????"},  // above U+10FFFF
      {"\xe2\x82"
       "a",
       "??a"},
  };
  for (const auto& [text, valid] : kCases) EXPECT_EQ(ValidUtf8(text, 100), valid);
}

TEST(WireErrorTest, CutsTextBetweenCharacters) {
  EXPECT_EQ(ValidUtf8("ab\u20ac", 4), "ab");
  EXPECT_EQ(ValidUtf8("ab\u20ac", 5), "ab\u20ac");
}

}  // namespace
}  // namespace plait::wire
