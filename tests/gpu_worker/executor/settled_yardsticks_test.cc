#include "gpu_worker/executor/settled_yardsticks.h"

#include <deque>
#include <memory>
#include <utility>

#include <gtest/gtest.h>

namespace plait {
namespace {

constexpr absl::Duration kNoRest = absl::ZeroDuration();

// Its multiply-adds are what the test says, in order; the last ones stay. Each reading finds that
// memory is one faster than the one before.
class MovingExecutor : public Executor {
 public:
  explicit MovingExecutor(std::deque<double> multiply_adds)
      : multiply_adds_(std::move(multiply_adds)) {}

  const DeviceDescription& device() const override { return device_; }
  Yardsticks ReadYardsticks() override {
    ++readings;
    const double rate = multiply_adds_.front();
    if (multiply_adds_.size() > 1) multiply_adds_.pop_front();
    return {.multiply_add_flops_per_us = rate, .read_bytes_per_us = 100.0 + readings};
  }

  int readings = 0;

 private:
  absl::StatusOr<std::unique_ptr<Executable>> LoadChecked(const Graph&, const Plan&,
                                                          const WeightSource&) override {
    return absl::UnimplementedError("only yardsticks");
  }

  DeviceDescription device_;
  std::deque<double> multiply_adds_;
};

TEST(SettledYardsticksTest, AQuietDeviceIsReadFourTimes) {
  MovingExecutor executor({1000, 1001, 999, 1000});
  EXPECT_EQ(ReadSettledYardsticks(executor, {}, kNoRest),
            (Yardsticks{.multiply_add_flops_per_us = 1000, .read_bytes_per_us = 102.5}));
  EXPECT_EQ(executor.readings, kAgreeingReadings);
}

// Two processors shared a core while the first three readings were taken.
TEST(SettledYardsticksTest, ReadingsOfASharedCoreDoNotCount) {
  MovingExecutor executor({500, 500, 500, 1000});
  EXPECT_EQ(ReadSettledYardsticks(executor, {}, kNoRest),
            (Yardsticks{.multiply_add_flops_per_us = 1000, .read_bytes_per_us = 105.5}));
  EXPECT_EQ(executor.readings, 7);
}

TEST(SettledYardsticksTest, ADeviceThatNeverSettlesIsAsFastAsAtItsBest) {
  MovingExecutor executor({100, 200, 300, 400, 500, 600, 2000, 800, 900, 1000, 1100, 1200, 1300});
  EXPECT_EQ(ReadSettledYardsticks(executor, {}, kNoRest).multiply_add_flops_per_us, 2000);
  EXPECT_EQ(executor.readings, kSettledReadingsMax);
}

TEST(SettledYardsticksTest, ADeviceWithoutYardsticksIsReadOnce) {
  MovingExecutor executor({0});
  EXPECT_EQ(ReadSettledYardsticks(executor, {}, kNoRest).multiply_add_flops_per_us, 0);
  EXPECT_EQ(executor.readings, 1);
}

TEST(SettledYardsticksTest, AStopEndsIt) {
  MovingExecutor executor({500, 1000});
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(ReadSettledYardsticks(executor, stop.get_token()).multiply_add_flops_per_us, 500);
  EXPECT_EQ(executor.readings, 1);
}

}  // namespace
}  // namespace plait
