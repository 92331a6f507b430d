#include "client/retry.h"

#include <vector>

#include <gtest/gtest.h>

#include "proto/wire/error.h"

namespace plait {
namespace {

TEST(RetryTest, RepeatsUntilTheServerAnswersWithGrowingPauses) {
  std::vector<absl::Duration> pauses;
  Retrier retrier({}, 1, [&](absl::Duration pause) { pauses.push_back(pause); });
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
  Retrier retrier({.attempts_max = 3}, 1, [](absl::Duration) {});
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
                                     wire::Error(v1::ERROR_REASON_DEVICE_UNAVAILABLE, "x"),
                                     wire::Error(v1::ERROR_REASON_DRAINING, "x")}) {
    Retrier retrier({}, 1, [](absl::Duration) {});
    int calls = 0;
    EXPECT_EQ(retrier.Run([&] {
      ++calls;
      return status;
    }),
              status);
    EXPECT_EQ(calls, 1) << status;
  }
}

TEST(RetryTest, CountsFromTheLastProgress) {
  Retrier retrier({.attempts_max = 2}, 1, [](absl::Duration) {});
  int calls = 0;
  retrier
      .Run([&] {
        if (++calls < 10) retrier.Progress();
        return absl::UnavailableError("gone");
      })
      .IgnoreError();
  EXPECT_EQ(calls, 10);
}

}  // namespace
}  // namespace plait
