#include "optimizer/cost/simulator.h"

#include <gtest/gtest.h>

namespace plait {
namespace {

SimulatedStep Narrow(double latency_us, int stream, std::vector<int> waits = {}) {
  return {latency_us, stream, false, 0.5, 0, std::move(waits)};
}

SimulatedStep Wide(double latency_us) { return {latency_us, 0, true, 1, 0, {}}; }

TEST(SimulatorTest, StepsOfOneStreamRunOneAfterTheOther) {
  const Simulation simulation = Simulate({Narrow(3, 0), Narrow(4, 0)}, {});
  EXPECT_DOUBLE_EQ(simulation.makespan_us, 7);
  EXPECT_DOUBLE_EQ(simulation.start_us[1], 3);
}

TEST(SimulatorTest, StreamsRunSideBySideWhileSharesFit) {
  EXPECT_DOUBLE_EQ(Simulate({Narrow(3, 0), Narrow(4, 1)}, {}).makespan_us, 4);
}

TEST(SimulatorTest, ThreeHalvesOfTheDeviceSlowEachOther) {
  // Three steps of 4 us at half the device each: rate 2/3 until all end together.
  const Simulation simulation = Simulate({Narrow(4, 0), Narrow(4, 1), Narrow(4, 2)}, {});
  EXPECT_NEAR(simulation.makespan_us, 6, 1e-9);
}

TEST(SimulatorTest, ContentionEndsWhenAStepEnds) {
  // Rate 2/3 for 3 us (the 2 us step), then 1: the others have 2 us left of 4.
  const Simulation simulation = Simulate({Narrow(2, 0), Narrow(4, 1), Narrow(4, 2)}, {});
  EXPECT_NEAR(simulation.finish_us[0], 3, 1e-9);
  EXPECT_NEAR(simulation.makespan_us, 5, 1e-9);
}

TEST(SimulatorTest, BandwidthIsAResourceToo) {
  std::vector<SimulatedStep> steps = {Narrow(4, 0), Narrow(4, 1)};
  steps[0].bandwidth_share = steps[1].bandwidth_share = 1;
  EXPECT_NEAR(Simulate(steps, {}).makespan_us, 8, 1e-9);
}

TEST(SimulatorTest, WaitsHoldAStepBack) {
  const Simulation simulation = Simulate({Narrow(3, 0), Narrow(4, 1, {0})}, {});
  EXPECT_DOUBLE_EQ(simulation.start_us[1], 3);
  EXPECT_DOUBLE_EQ(simulation.makespan_us, 7);
}

TEST(SimulatorTest, StepsThatRunAloneAreBarriers) {
  const Simulation simulation = Simulate({Narrow(3, 0), Narrow(5, 1), Wide(2), Narrow(1, 1)}, {});
  EXPECT_DOUBLE_EQ(simulation.start_us[2], 5);
  EXPECT_DOUBLE_EQ(simulation.start_us[3], 7);
  EXPECT_DOUBLE_EQ(simulation.makespan_us, 8);
}

TEST(SimulatorTest, GapsAndHandOversCost) {
  const SimulatorOptions options{.launch_gap_us = 1, .cross_stream_us = 0.25};
  EXPECT_DOUBLE_EQ(Simulate({Narrow(3, 0), Narrow(4, 0)}, options).makespan_us, 9);
  EXPECT_DOUBLE_EQ(Simulate({Narrow(3, 0), Narrow(4, 1, {0})}, options).makespan_us, 9.25);
}

TEST(SimulatorTest, NothingTakesNoTime) { EXPECT_EQ(Simulate({}, {}).makespan_us, 0); }

TEST(SimulatorTest, ViewsTakeNoTime) {
  EXPECT_DOUBLE_EQ(Simulate({Narrow(0, 0), Narrow(2, 0), Narrow(0, 1, {1})}, {}).makespan_us, 2);
}

}  // namespace
}  // namespace plait
