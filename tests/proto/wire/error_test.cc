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

TEST(WireErrorTest, GivesAReasonAndLeavesTheCode) {
  const absl::Status status = WithReason(absl::InternalError("x"), v1::ERROR_REASON_CRASHED);
  EXPECT_EQ(ReasonOf(status), v1::ERROR_REASON_CRASHED);
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_TRUE(WithReason(absl::OkStatus(), v1::ERROR_REASON_CRASHED).ok());
}

TEST(WireErrorTest, KeepsTheReasonWhenALayerAddsAPhrase) {
  const absl::Status status = Annotate(Error(v1::ERROR_REASON_DRAINING, "stopping"), "submit");
  EXPECT_EQ(ReasonOf(status), v1::ERROR_REASON_DRAINING);
}

TEST(WireErrorTest, ACodeWithoutAReasonMeansNoMoreThanItSays) {
  const std::pair<absl::StatusCode, v1::ErrorReason> kCases[] = {
      {absl::StatusCode::kCancelled, v1::ERROR_REASON_CANCELLED},
      {absl::StatusCode::kUnknown, v1::ERROR_REASON_INTERNAL},
      {absl::StatusCode::kInvalidArgument, v1::ERROR_REASON_INVALID_REQUEST},
      {absl::StatusCode::kDeadlineExceeded, v1::ERROR_REASON_DEADLINE},
      {absl::StatusCode::kNotFound, v1::ERROR_REASON_NOT_FOUND},
      {absl::StatusCode::kAlreadyExists, v1::ERROR_REASON_INTERNAL},
      {absl::StatusCode::kPermissionDenied, v1::ERROR_REASON_PERMISSION_DENIED},
      {absl::StatusCode::kResourceExhausted, v1::ERROR_REASON_LIMIT_EXCEEDED},
      {absl::StatusCode::kFailedPrecondition, v1::ERROR_REASON_INTERNAL},
      {absl::StatusCode::kAborted, v1::ERROR_REASON_INTERNAL},
      {absl::StatusCode::kOutOfRange, v1::ERROR_REASON_INVALID_REQUEST},
      {absl::StatusCode::kUnimplemented, v1::ERROR_REASON_UNSUPPORTED},
      {absl::StatusCode::kInternal, v1::ERROR_REASON_INTERNAL},
      {absl::StatusCode::kUnavailable, v1::ERROR_REASON_UNREACHABLE},
      {absl::StatusCode::kDataLoss, v1::ERROR_REASON_INTERNAL},
      {absl::StatusCode::kUnauthenticated, v1::ERROR_REASON_UNAUTHENTICATED},
  };
  for (const auto& [code, reason] : kCases) {
    EXPECT_EQ(ReasonOf(absl::Status(code, "")), reason) << code;
  }
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
