#include "proto/wire/grpc_status.h"

#include <gtest/gtest.h>

#include "base/digest.h"
#include "plait/internal/rpc_status.pb.h"
#include "proto/wire/error.h"

namespace plait::wire {
namespace {

TEST(GrpcStatusTest, EveryReasonRoundTrips) {
  for (int number = 1; number <= v1::ErrorReason_MAX; ++number) {
    const absl::Status status = Error(static_cast<v1::ErrorReason>(number), "conv3: is 0");
    EXPECT_EQ(FromGrpcStatus(ToGrpcStatus(status)), status);
  }
  EXPECT_TRUE(FromGrpcStatus(ToGrpcStatus(absl::OkStatus())).ok());
}

TEST(GrpcStatusTest, EveryCodeRoundTrips) {
  for (int code = 1; code <= 16; ++code) {
    const absl::Status status(static_cast<absl::StatusCode>(code), "message");
    const absl::Status again = FromGrpcStatus(ToGrpcStatus(status));
    EXPECT_EQ(again.code(), status.code());
    EXPECT_EQ(again.message(), status.message());
  }
}

// The google.rpc.Status that a client's library finds.
internal::Status StatusIn(const grpc::Status& status) {
  internal::Status details;
  EXPECT_TRUE(details.ParseFromString(status.error_details()));
  return details;
}

TEST(GrpcStatusTest, CarriesAStatusOfGoogleRpc) {
  const grpc::Status status =
      ToGrpcStatus(FieldError("options.threads", "must be 0 to 1024, is -1"));
  const internal::Status details = StatusIn(status);
  EXPECT_EQ(details.code(), status.error_code());
  EXPECT_EQ(details.message(), status.error_message());
  ASSERT_EQ(details.details_size(), 2);
  EXPECT_EQ(details.details(0).type_url(), "type.googleapis.com/google.rpc.ErrorInfo");
  EXPECT_EQ(details.details(1).type_url(), "type.googleapis.com/google.rpc.BadRequest");
  internal::ErrorInfo info;
  ASSERT_TRUE(info.ParseFromString(details.details(0).value()));
  EXPECT_EQ(info.reason(), "INVALID_REQUEST");
  EXPECT_EQ(info.domain(), "plait");
}

TEST(GrpcStatusTest, DetailsComeBack) {
  for (const absl::Status& status :
       {FieldError("options.threads", "is -1"), Error(v1::ERROR_REASON_DRAINING, "stopping"),
        MissingBlobError(DigestOf("model"), "not here")}) {
    EXPECT_EQ(FromGrpcStatus(ToGrpcStatus(status)), status);
  }
}

TEST(GrpcStatusTest, AnErrorWithoutAReasonIsSentWithThatOfItsCode) {
  const absl::Status status = absl::AbortedError("who knows");
  EXPECT_EQ(FromGrpcStatus(ToGrpcStatus(status)), WithReason(status, v1::ERROR_REASON_INTERNAL));
}

TEST(GrpcStatusTest, ShortensMessagesAndMakesThemText) {
  const grpc::Status status = ToGrpcStatus(absl::InternalError(std::string(5000, 'x') + "\xff"));
  EXPECT_EQ(status.error_message().size(), 1024u);
  EXPECT_EQ(StatusIn(status).message(), status.error_message());
  EXPECT_EQ(ToGrpcStatus(absl::InternalError("a\xff")).error_message(), "a?");
}

TEST(GrpcStatusTest, TakesNothingFromDetailsOfOthers) {
  internal::Status details;
  google::protobuf::Any& unknown = *details.add_details();
  unknown.set_type_url("type.googleapis.com/google.rpc.DebugInfo");
  unknown.set_value("\xff");
  google::protobuf::Any& proxy = *details.add_details();
  proxy.set_type_url("type.googleapis.com/google.rpc.ErrorInfo");
  internal::ErrorInfo info;
  info.set_domain("proxy.example");
  info.set_reason("CRASHED");
  proxy.set_value(info.SerializeAsString());
  const grpc::Status foreign(grpc::StatusCode::NOT_FOUND, "m", details.SerializeAsString());
  EXPECT_EQ(FromGrpcStatus(foreign), absl::NotFoundError("m"));
  // Beside ours, in either order.
  const absl::Status ours = Error(v1::ERROR_REASON_NOT_FOUND, "m");
  const google::protobuf::Any detail = StatusIn(ToGrpcStatus(ours)).details(0);
  *details.add_details() = detail;
  *details.add_details() = proxy;
  const grpc::Status mixed(grpc::StatusCode::NOT_FOUND, "m", details.SerializeAsString());
  EXPECT_EQ(FromGrpcStatus(mixed), ours);
}

TEST(GrpcStatusTest, SurvivesForeignDetailsAndCodes) {
  const grpc::Status foreign(grpc::StatusCode::NOT_FOUND, "m", "\xff\xff no Status");
  EXPECT_EQ(FromGrpcStatus(foreign), absl::NotFoundError("m"));
#ifndef __SANITIZE_ADDRESS__  // UBSan, which runs with it, stops in gRPC's accessor
  const grpc::Status unknown(static_cast<grpc::StatusCode>(99), "m");
  EXPECT_TRUE(absl::IsUnknown(FromGrpcStatus(unknown)));
#endif
}

}  // namespace
}  // namespace plait::wire
