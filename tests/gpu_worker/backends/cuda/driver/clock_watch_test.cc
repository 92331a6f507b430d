#include "gpu_worker/backends/cuda/driver/clock_watch.h"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plait::cuda {
namespace {

using testing::ElementsAre;
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
  EXPECT_EQ(watch.TakeNotes(), "spans: 1, at 1950 to 1980 MHz, limited by nothing known");
}

TEST_F(ClockWatchTest, TellsAClockAgainWhenItIsAnotherOrSomethingElseLimitsIt) {
  ClockWatch watch =
      Watching({{1980}, {1980}, {1980}, {1965}, {1755}, {1755}, {1755, 0x4}, {1755}});
  std::vector<std::string> notes;
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(Time(watch), i + 1);
    notes.push_back(watch.TakeNotes());
  }
  EXPECT_THAT(notes, ElementsAre("spans: 1, at 1980 to 1980 MHz, limited by nothing known", "",
                                 "spans: 1, at 1755 to 1755 MHz, limited by nothing known",
                                 "spans: 1, at 1755 to 1755 MHz, limited by power"));
}

TEST_F(ClockWatchTest, DropsTheSpanInWhichAnIdleClockRose) {
  ClockWatch watch = Watching({{345, 0x1}, {1980, 0x0}, {1980, 0x0}});
  EXPECT_EQ(Time(watch), 2);
  EXPECT_EQ(
      watch.TakeNotes(),
      "spans: 2, at 345 to 1980 MHz, limited by nothing runs; dropped: 1, since the clock moved");
  EXPECT_EQ(watch.TakeNotes(), "") << "told once";
}

// It has no other, and a caller that waits for a clock that stands would wait for ever.
TEST_F(ClockWatchTest, TakesTheThirdSpanOfAClockThatNeverStands) {
  ClockWatch watch = Watching({{1980}, {1410, 0x4}, {1980}, {1410, 0x40}});
  EXPECT_EQ(Time(watch), 3);
  const std::string notes = watch.TakeNotes();
  EXPECT_THAT(notes, HasSubstr("spans: 3, at 1410 to 1980 MHz, limited by power, heat"));
  EXPECT_THAT(notes, HasSubstr("dropped: 2, since the clock moved; kept though it moved: 1"));
  EXPECT_EQ(watch.TakeNotes(), "");
}

// Of what is returned, and not of what was dropped.
TEST_F(ClockWatchTest, SaysWhatItSawOfTheSpansThatCount) {
  ClockWatch watch = Watching({{345, 0x1}, {1980}, {1970, 0x4}, {1960}, {1960}});
  EXPECT_EQ(Time(watch), 2);
  EXPECT_EQ(Time(watch), 3);
  ClockSeen seen = watch.TakeSeen();
  EXPECT_EQ(seen.spans, 2);
  EXPECT_EQ(seen.moving, 0);
  EXPECT_EQ(seen.least_mhz, 1960u);
  EXPECT_EQ(seen.most_mhz, 1980u);
  EXPECT_THAT(ClockLimitNames(seen.limits), ElementsAre("power"));
  seen = watch.TakeSeen();
  EXPECT_EQ(seen.spans, 0);
  EXPECT_EQ(seen.least_mhz, 0u);
}

TEST_F(ClockWatchTest, SaysThatTheClockMovedInASpanThatCounts) {
  ClockWatch watch = Watching({{1980}, {1410, 0x4}, {1980}, {1410, 0x40}});
  EXPECT_EQ(Time(watch), 3);
  const ClockSeen seen = watch.TakeSeen();
  EXPECT_EQ(seen.spans, 1);
  EXPECT_EQ(seen.moving, 1);
  EXPECT_EQ(seen.least_mhz, 1410u);
  EXPECT_THAT(ClockLimitNames(seen.limits), ElementsAre("heat"));
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
