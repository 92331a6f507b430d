#include "client/retry.h"

#include <vector>

#include <gtest/gtest.h>

#include "proto/wire/error.h"

namespace plait {
namespace {

TEST(RetryTest, RepeatsUntilTheServerAnswersWithGrowingPauses) {
  std::vector<absl::Duration> pauses;
  ServerSeen server;
  Retrier retrier(
      {}, 1, [&](absl::Duration pause) { pauses.push_back(pause); }, server);
  int calls = 0;
  EXPECT_TRUE(
      retrier.Run([&] { return ++calls < 4 ? absl::UnavailableError("gone") : absl::OkStatus(); })
          .ok());
  EXPECT_EQ(calls, 4);
  ASSERT_EQ(pauses.size(), 3u);
  for (size_t i = 0; i < pauses.size(); ++i) {
    EXPECT_GE(pauses[i], absl::Milliseconds(50 << i));
    EXPECT_LE(pauses[i], absl::Milliseconds(100 << i));
  }
}

TEST(RetryTest, GivesUpAfterTheLastAttempt) {
  ServerSeen server;
  Retrier retrier(
      {.attempts_max = 3}, 1, [](absl::Duration) {}, server);
  int calls = 0;
  const absl::Status status = retrier.Run([&] {
    ++calls;
    return absl::UnavailableError("gone");
  });
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(status, absl::UnavailableError("gone"));
}

TEST(RetryTest, DoesNotRepeatWhatCannotSucceed) {
  for (const absl::Status& status : {absl::InvalidArgumentError("x"), absl::InternalError("x"),
                                     wire::Error(v1::ERROR_REASON_DEVICE_UNAVAILABLE, "x")}) {
    ServerSeen server;
    Retrier retrier(
        {}, 1, [](absl::Duration) {}, server);
    int calls = 0;
    EXPECT_EQ(retrier.Run([&] {
      ++calls;
      return status;
    }),
              status);
    EXPECT_EQ(calls, 1) << status;
  }
}

// A graceful restart: the server says that it is stopping, is gone for a while, and is there again.
TEST(RetryTest, OutlastsARestart) {
  absl::Duration paused;
  ServerSeen server;
  Retrier retrier(
      {}, 1, [&](absl::Duration pause) { paused += pause; }, server);
  int calls = 0;
  const absl::Status status = retrier.Run([&]() -> absl::Status {
    if (++calls == 1) return wire::Error(v1::ERROR_REASON_DRAINING, "stopping");
    // What gRPC's server says of calls that it ends.
    if (calls == 2) return absl::CancelledError("CANCELLED");
    if (paused < absl::Seconds(50)) return absl::UnavailableError("connection refused");
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status;
}

TEST(RetryTest, DoesNotWaitForAServerThatNobodyStartsAgain) {
  ServerSeen server;
  server.Note();
  bool has_ended = false;
  RetryPolicy policy;
  policy.server_end = [&] { return has_ended ? absl::UnavailableError("dead") : absl::OkStatus(); };
  Retrier retrier(
      policy, 1, [&](absl::Duration) { has_ended = true; }, server);
  int calls = 0;
  const absl::Status status = retrier.Run([&] {
    ++calls;
    return absl::UnavailableError("gone");
  });
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(status, absl::UnavailableError("dead"));
}

TEST(RetryTest, DoesNotTakeACancelledJobForABrokenCall) {
  ServerSeen server;
  Retrier retrier(
      {}, 1, [](absl::Duration) {}, server);
  EXPECT_TRUE(absl::IsCancelled(
      retrier.Run([] { return wire::Error(v1::ERROR_REASON_CANCELLED, "by the client"); })));
}

TEST(RetryTest, RemembersInLaterCallsThatTheServerWasThere) {
  absl::Duration paused;
  ServerSeen server;
  const auto sleep = [&](absl::Duration pause) { paused += pause; };
  EXPECT_TRUE(Retrier({}, 1, sleep, server).Run([] { return absl::OkStatus(); }).ok());
  const auto gone = [] { return absl::UnavailableError("connection refused"); };
  EXPECT_TRUE(absl::IsUnavailable(Retrier({}, 1, sleep, server).Run(gone)));
  EXPECT_GE(paused, absl::Minutes(1));
  EXPECT_LE(paused, absl::Seconds(62));
}

TEST(RetryTest, CountsFromTheLastProgress) {
  ServerSeen server;
  absl::Duration paused;
  Retrier retrier(
      {.absence_max = absl::Seconds(10)}, 1, [&](absl::Duration pause) { paused += pause; },
      server);
  absl::Duration paused_before;
  int calls = 0;
  retrier
      .Run([&] {
        if (++calls < 100) {
          retrier.Progress();
          paused_before = paused;
        }
        return absl::UnavailableError("gone");
      })
      .IgnoreError();
  EXPECT_GT(calls, 100);
  EXPECT_GE(paused - paused_before, absl::Seconds(10));
}

}  // namespace
}  // namespace plait
