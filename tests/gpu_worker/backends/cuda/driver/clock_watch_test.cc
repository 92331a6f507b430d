#include "gpu_worker/backends/cuda/driver/clock_watch.h"

#include <optional>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plait::cuda {
namespace {

using testing::HasSubstr;

// A GPU that is read so, one reading after the other, and whose spans take 1, 2, 3 ... us.
class ClockWatchTest : public testing::Test {
 protected:
  ClockWatch Watching(std::vector<ClockReading> readings) {
    readings_ = std::move(readings);
    return ClockWatch([this]() -> Result<ClockReading> {
      if (next_ == readings_.size()) return Error{ErrorCode::kDevice, "no clock"};
      return readings_[next_++];
    });
  }
  double Time(ClockWatch& watch) {
    const Result<double> us = watch.TimeSteady([this]() -> Result<double> { return ++spans_; });
    return us.ok() ? us.value() : -1;
  }

  std::vector<ClockReading> readings_;
  size_t next_ = 0;
  int spans_ = 0;
};

TEST_F(ClockWatchTest, TakesTheSpanOfAClockThatStands) {
  ClockWatch watch = Watching({{1980}, {1950}});
  EXPECT_EQ(Time(watch), 1);
  EXPECT_EQ(watch.TakeNotes(), "");
}

TEST_F(ClockWatchTest, DropsTheSpanInWhichAnIdleClockRose) {
  ClockWatch watch = Watching({{345, 0x1}, {1980, 0x0}, {1980, 0x0}});
  EXPECT_EQ(Time(watch), 2);
  EXPECT_EQ(watch.TakeNotes(),
            "of 2 spans 1 were dropped, since the clock moved: 345 to 1980 MHz, limited by nothing "
            "runs");
  EXPECT_EQ(watch.TakeNotes(), "") << "told once";
}

// It has no other, and a caller that waits for a clock that stands would wait for ever.
TEST_F(ClockWatchTest, TakesTheThirdSpanOfAClockThatNeverStands) {
  ClockWatch watch = Watching({{1980}, {1410, 0x4}, {1980}, {1410, 0x40}});
  EXPECT_EQ(Time(watch), 3);
  const std::string notes = watch.TakeNotes();
  EXPECT_THAT(notes, HasSubstr("of 3 spans 2 were dropped"));
  EXPECT_THAT(notes, HasSubstr("1410 to 1980 MHz, limited by power, heat"));
}

TEST_F(ClockWatchTest, TakesAnySpanWhereNobodyReadsAClock) {
  ClockWatch unreadable = Watching({{345}});
  EXPECT_EQ(Time(unreadable), 1);
  ClockWatch none(nullptr);
  EXPECT_EQ(Time(none), 2);
  EXPECT_EQ(none.TakeNotes(), "");
}

TEST_F(ClockWatchTest, PassesOnTheErrorOfASpan) {
  ClockWatch watch = Watching({{345}, {1980}});
  const Result<double> us = watch.TimeSteady([]() -> Result<double> {
    return Error{ErrorCode::kDevice, "cuEventRecord"};
  });
  ASSERT_FALSE(us.ok());
  EXPECT_EQ(us.error().message, "cuEventRecord");
}

}  // namespace
}  // namespace plait::cuda
