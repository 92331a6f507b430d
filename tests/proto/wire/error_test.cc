#include "proto/wire/error.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "tests/proto/wire/details.h"

namespace plait::wire {
namespace {

bool HasRetryInfo(const absl::Status& status) {
  return DetailOf<internal::RetryInfo>(status, kRetryInfoUrl).has_value();
}

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
  EXPECT_TRUE(HasRetryInfo(status));
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

TEST(WireErrorTest, AReasonThatIsNotKnownIsNoReason) {
  internal::ErrorInfo info;
  info.set_domain("plait");
  info.set_reason("OF_A_NEWER_SERVER");
  absl::Status status = absl::NotFoundError("");
  status.SetPayload(kErrorInfoUrl, absl::Cord(info.SerializeAsString()));
  EXPECT_EQ(ReasonOf(status), v1::ERROR_REASON_NOT_FOUND);
  info.set_reason("CRASHED");
  info.set_domain("somebody.else");
  status.SetPayload(kErrorInfoUrl, absl::Cord(info.SerializeAsString()));
  EXPECT_EQ(ReasonOf(status), v1::ERROR_REASON_NOT_FOUND);
  v1::ErrorDetail detail;
  detail.set_reason(static_cast<v1::ErrorReason>(99));
  EXPECT_EQ(StatusOf(detail), absl::UnknownError(""));
}

TEST(WireErrorTest, SaysHowLongToWaitWhereARetryMayHelp) {
  int reasons = 0;
  for (int number = 1; number <= v1::ErrorReason_MAX; ++number) {
    const auto reason = static_cast<v1::ErrorReason>(number);
    const auto retry = DetailOf<internal::RetryInfo>(Error(reason, "what"), kRetryInfoUrl);
    const bool helps = reason == v1::ERROR_REASON_DRAINING ||
                       reason == v1::ERROR_REASON_QUOTA_EXCEEDED ||
                       reason == v1::ERROR_REASON_STORAGE_UNAVAILABLE ||
                       reason == v1::ERROR_REASON_DEVICE_UNAVAILABLE;
    EXPECT_EQ(retry.has_value(), helps) << v1::ErrorReason_Name(reason);
    if (!retry) continue;
    EXPECT_GT(retry->retry_delay().seconds(), 0) << v1::ErrorReason_Name(reason);
    ++reasons;
  }
  EXPECT_EQ(reasons, 4);
}

TEST(WireErrorTest, TellsNobodyToWaitForDamagedStorage) {
  const auto reason = v1::ERROR_REASON_STORAGE_UNAVAILABLE;
  EXPECT_TRUE(HasRetryInfo(WithReason(absl::ResourceExhaustedError("full"), reason)));
  EXPECT_FALSE(HasRetryInfo(WithReason(absl::DataLossError("damaged"), reason)));
}

TEST(WireErrorTest, AnotherReasonTakesTheWaitAlong) {
  const absl::Status draining = Error(v1::ERROR_REASON_DRAINING, "stopping");
  EXPECT_FALSE(HasRetryInfo(WithReason(draining, v1::ERROR_REASON_INTERNAL)));
}

TEST(WireErrorTest, NamesTheFieldForPeopleAndPrograms) {
  const absl::Status status = FieldError("options.threads", "must be 0 to 1024, is -1");
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_EQ(ReasonOf(status), v1::ERROR_REASON_INVALID_REQUEST);
  EXPECT_EQ(status.message(), "options.threads: must be 0 to 1024, is -1");
  const auto detail = DetailOf<internal::BadRequest>(status, kBadRequestUrl);
  ASSERT_TRUE(detail && detail->field_violations_size() == 1);
  EXPECT_EQ(detail->field_violations(0).field(), "options.threads");
  EXPECT_EQ(detail->field_violations(0).description(), "must be 0 to 1024, is -1");
}

TEST(WireErrorTest, KeepsAViolationShortAndText) {
  const std::string text = "\xff" + std::string(5000, 'x');
  const auto detail =
      DetailOf<internal::BadRequest>(FieldError(text, text), kBadRequestUrl)->field_violations(0);
  EXPECT_EQ(detail.field(), "?" + std::string(511, 'x'));
  EXPECT_EQ(detail.description(), detail.field());
}

TEST(WireErrorTest, NamesTheBlobThatHasToBeUploaded) {
  const Digest digest = DigestOf("model");
  const absl::Status status = MissingBlobError(digest, "model is not here");
  EXPECT_EQ(ReasonOf(status), v1::ERROR_REASON_BLOB_MISSING);
  EXPECT_EQ(status.message(), "model is not here");
  const auto detail = DetailOf<internal::PreconditionFailure>(status, kPreconditionFailureUrl);
  ASSERT_TRUE(detail && detail->violations_size() == 1);
  EXPECT_EQ(detail->violations(0).type(), "MISSING");
  EXPECT_EQ(detail->violations(0).subject(), absl::StrCat("blobs/", digest.sha256_hex, "/5"));
  EXPECT_EQ(detail->violations(0).description(), "model is not here");
}

TEST(WireErrorTest, NamesReasonsWithoutTheirPrefix) {
  EXPECT_EQ(ReasonName(v1::ERROR_REASON_BLOB_MISSING), "BLOB_MISSING");
  EXPECT_EQ(ReasonName(static_cast<v1::ErrorReason>(99)), "");
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
