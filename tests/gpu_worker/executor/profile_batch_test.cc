#include "gpu_worker/executor/profile_batch.h"

#include <deque>
#include <memory>
#include <set>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/gpu_worker/executor/executor_fixture.h"

namespace plait {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

// Takes a microsecond more in each load of a kernel, so that visits can be told apart.
class FakeExecutable : public Executable {
 public:
  FakeExecutable(double latency_us, double first_extra_us)
      : latency_us_(latency_us), extra_us_(first_extra_us) {}

  absl::StatusOr<std::vector<Tensor>> Run(absl::Span<const Tensor>) override {
    return std::vector<Tensor>();
  }
  absl::StatusOr<std::vector<double>> Time(int repeats) override {
    std::vector<double> samples(static_cast<size_t>(repeats), latency_us_);
    samples[0] += std::exchange(extra_us_, 0);
    return samples;
  }
  absl::Status SetInputs(absl::Span<const Tensor>) override { return absl::OkStatus(); }
  void EvictCaches() override {}
  int fallback_nodes() const override { return 0; }
  std::vector<std::string> step_variants() const override { return {"strict/generated/v4"}; }
  int64_t workspace_bytes() const override { return 4096; }

 private:
  const double latency_us_;
  double extra_us_;  // of its first run
};

// Its yardsticks are what the test says, in order; the last one stays.
class FakeExecutor : public Executor {
 public:
  explicit FakeExecutor(std::deque<double> read_rates,
                        std::deque<double> multiply_add_rates = {1000})
      : read_rates_(std::move(read_rates)), multiply_add_rates_(std::move(multiply_add_rates)) {
    device_.memory_bytes = int64_t{1} << 40;
    device_.threads = 2;
  }

  const DeviceDescription& device() const override { return device_; }
  Yardsticks ReadYardsticks() override {
    ++readings;
    return {.multiply_add_flops_per_us = 1000, .read_bytes_per_us = Next(read_rates_)};
  }
  double ReadMultiplyAddRate(int width) override {
    widths.insert(width);
    return Next(multiply_add_rates_);
  }
  double ReadHandoverUs() override { return last_handover_us_ = Next(handovers_us); }

  std::deque<double> handovers_us = {0};
  double latency_us = 0;      // of every load, beside what tells it from the others
  double first_extra_us = 0;  // of the first run of every load
  int loads = 0;
  int readings = 0;
  int disturbed_load = 0;  // the one whose kernel takes a millisecond more
  std::set<int> widths;    // for which multiply-adds were read

 private:
  static double Next(std::deque<double>& rates) {
    const double rate = rates.front();
    if (rates.size() > 1) rates.pop_front();
    return rate;
  }

  absl::StatusOr<std::unique_ptr<Executable>> LoadChecked(const Graph&, const Plan&,
                                                          const WeightSource&) override {
    ++loads;
    return std::make_unique<FakeExecutable>(latency_us + loads +
                                                (loads == disturbed_load ? 1000 : 0) +
                                                (last_handover_us_ > 0.1 ? 1000 : 0),
                                            first_extra_us);
  }

  DeviceDescription device_;
  double last_handover_us_ = 0;
  std::deque<double> read_rates_;
  std::deque<double> multiply_add_rates_;
};

std::vector<LoneKernel> Relus(size_t count) {
  Kernel kernel;
  kernel.family = "elementwise";
  const absl::StatusOr<LoneKernel> lone =
      MakeLoneKernel("graph {\n  input %x: float32[4]\n  %y = Relu(%x)\n  output %y\n}", kernel,
                     {"plain", "plain"}, /*cold_weights=*/false);
  EXPECT_TRUE(lone.ok()) << lone.status();
  return std::vector<LoneKernel>(count, *lone);
}

std::vector<double> LatenciesOf(const std::vector<KernelProfile>& profiles) {
  std::vector<double> latencies_us;
  for (const KernelProfile& measured : profiles) {
    latencies_us.push_back(measured.profile.latency_us_median);
  }
  return latencies_us;
}

constexpr ProfileOptions kQuick = {.samples_max = 3};

TEST(ProfileKernelsTest, GivesEachKernelTheReadsOfItsBatch) {
  FakeExecutor executor({100, 102, 104});
  const auto profiles = ProfileKernels(executor, Relus(kKernelsOfBatch + 1), kQuick);
  ASSERT_TRUE(profiles.ok()) << profiles.status();
  ASSERT_THAT(*profiles, SizeIs(kKernelsOfBatch + 1));
  EXPECT_EQ(executor.loads, kVisits * (kKernelsOfBatch + 1));
  EXPECT_EQ(executor.readings, 3);
  EXPECT_EQ(profiles->front().profile.yardsticks, (Yardsticks{1000, 101, 0}));
  EXPECT_EQ((*profiles)[kKernelsOfBatch - 1].profile.yardsticks.read_bytes_per_us, 101);
  EXPECT_EQ(profiles->back().profile.yardsticks.read_bytes_per_us, 103);
}

TEST(ProfileKernelsTest, SaysWhatTheDeviceChose) {
  FakeExecutor executor({100});
  const auto profiles = ProfileKernels(executor, Relus(2), kQuick);
  ASSERT_TRUE(profiles.ok()) << profiles.status();
  for (const KernelProfile& measured : *profiles) {
    EXPECT_EQ(measured.profile.implementation, "strict/generated/v4");
    EXPECT_EQ(measured.profile.workspace_bytes, 4096);
  }
}

TEST(ProfileKernelsTest, ReadsMultiplyAddsByTheThreadsOfTheKernel) {
  FakeExecutor executor({100});
  std::vector<LoneKernel> kernels = Relus(4);
  kernels[1].kernel.width = 2;
  // What a stranger may ask for.
  kernels[2].kernel.width = 1 << 30;
  kernels[3].kernel.width = -1;
  ASSERT_TRUE(ProfileKernels(executor, kernels, kQuick).ok());
  EXPECT_THAT(executor.widths, ElementsAre(1, 2));
}

TEST(ProfileKernelsTest, AMomentThatIsNotOursCostsNothing) {
  FakeExecutor executor({100});
  executor.disturbed_load = 1;
  const auto profiles = ProfileKernels(executor, Relus(2), kQuick);
  ASSERT_TRUE(profiles.ok()) << profiles.status();
  EXPECT_THAT(LatenciesOf(*profiles), ElementsAre(3, 2));
}

TEST(ProfileKernelsTest, AKernelThatTakesLongIsVisitedOnce) {
  FakeExecutor executor({100});
  executor.disturbed_load = 1;
  const auto profiles =
      ProfileKernels(executor, Relus(2), {.samples_max = 3, .time_max = absl::Microseconds(1500)});
  ASSERT_TRUE(profiles.ok()) << profiles.status();
  EXPECT_THAT(LatenciesOf(*profiles), ElementsAre(1001, 2));
  EXPECT_EQ(executor.loads, 3);
}

// A plain convolution of most jobs took tens of milliseconds in its first run, which became its
// profile.
TEST(ProfileKernelsTest, AFirstRunThatTookLongIsRepeated) {
  FakeExecutor executor({100});
  executor.first_extra_us = 5000;
  const ProfileOptions options = {.samples_max = 20, .time_max = absl::Milliseconds(2)};
  const auto profiles = ProfileKernels(executor, Relus(1), options);
  ASSERT_TRUE(profiles.ok()) << profiles.status();
  EXPECT_THAT(LatenciesOf(*profiles), ElementsAre(1));
  EXPECT_EQ(profiles->front().profile.samples, 10);
  EXPECT_EQ(executor.loads, kVisits);
}

// Nothing that is set up takes so long, and the kernel need not run twice.
TEST(ProfileKernelsTest, AFirstRunThatTookFarTooLongCounts) {
  FakeExecutor executor({100});
  executor.first_extra_us = 50'000;
  const ProfileOptions options = {.samples_max = 20, .time_max = absl::Milliseconds(2)};
  const auto profiles = ProfileKernels(executor, Relus(1), options);
  ASSERT_TRUE(profiles.ok()) << profiles.status();
  EXPECT_THAT(LatenciesOf(*profiles), ElementsAre(50'001));
  EXPECT_EQ(profiles->front().profile.samples, 1);
}

// 1 us at three times the rate is more than the 2 us of the next visit.
TEST(ProfileKernelsTest, TheVisitThatIsFastBesideTheMultiplyAddsCounts) {
  FakeExecutor executor({1e9}, {3000, 3000, 1000});
  const auto profiles = ProfileKernels(executor, Relus(1), kQuick);
  ASSERT_TRUE(profiles.ok()) << profiles.status();
  EXPECT_THAT(LatenciesOf(*profiles), ElementsAre(2));
  EXPECT_EQ(profiles->front().profile.yardsticks.multiply_add_flops_per_us, 1000);
}

TEST(ProfileKernelsTest, AVisitInWhichMultiplyAddsMovedIsRepeated) {
  FakeExecutor executor({100}, {1000, 500, 500, 1000, 1000, 1000});
  const auto profiles = ProfileKernels(executor, Relus(1), kQuick);
  ASSERT_TRUE(profiles.ok()) << profiles.status();
  EXPECT_THAT(LatenciesOf(*profiles), ElementsAre(3));
  EXPECT_EQ(executor.loads, 3);
  EXPECT_EQ(profiles->front().profile.yardsticks.drift, 0);
}

TEST(ProfileKernelsTest, WhereNoVisitIsSteadyTheFastestIsMarked) {
  FakeExecutor executor({100}, {1000, 900, 1000, 900, 1000, 900, 1000, 900});
  const auto profiles = ProfileKernels(executor, Relus(1), kQuick);
  ASSERT_TRUE(profiles.ok()) << profiles.status();
  EXPECT_EQ(executor.loads, kVisitsMax);
  EXPECT_THAT(LatenciesOf(*profiles), ElementsAre(1));
  EXPECT_NEAR(profiles->front().profile.yardsticks.drift, 0.1, 1e-12);
}

TEST(ProfileKernelsTest, TwoVisitsThatAgreeAreEnoughWhereNoneIsSteady) {
  FakeExecutor executor({100}, {1000, 900, 1000, 900, 1000, 900, 1000, 900});
  executor.latency_us = 1000;
  const auto profiles = ProfileKernels(executor, Relus(1), kQuick);
  ASSERT_TRUE(profiles.ok()) << profiles.status();
  EXPECT_EQ(executor.loads, 2);
  EXPECT_THAT(LatenciesOf(*profiles), ElementsAre(1001));
  EXPECT_NEAR(profiles->front().profile.yardsticks.drift, 0.1, 1e-12);
}

TEST(ProfileKernelsTest, ADeviceWithoutYardsticksIsTakenToBeSteady) {
  FakeExecutor executor({0}, {0});
  const auto profiles = ProfileKernels(executor, Relus(1), kQuick);
  ASSERT_TRUE(profiles.ok()) << profiles.status();
  EXPECT_EQ(executor.loads, 2);
  EXPECT_EQ(profiles->front().profile.yardsticks.read_bytes_per_us, 0);
}

// A host that moved one of a virtual machine's two processors had a model's best kernels take twice
// their time for some seconds, and the job chose others.
TEST(ProfileKernelsTest, WaitsForThreadsThatWereNearEachOther) {
  FakeExecutor executor({100});
  // Before the batch, and before and behind each visit.
  executor.handovers_us = {0.05, 0.05, 0.05, 0.2, 0.2, 0.05};
  executor.AllowWaits(absl::Seconds(30));
  const auto profiles = ProfileKernels(executor, Relus(2), kQuick);
  ASSERT_TRUE(profiles.ok()) << profiles.status();
  EXPECT_THAT(LatenciesOf(*profiles), ElementsAre(1, 2));
}

TEST(ProfileKernelsTest, AVisitInWhichThreadsPartedIsRepeated) {
  FakeExecutor executor({100});
  executor.handovers_us = {0.05, 0.05, 0.2, 0.05};
  executor.AllowWaits(absl::Seconds(30));
  const auto profiles = ProfileKernels(executor, Relus(1), kQuick);
  ASSERT_TRUE(profiles.ok()) << profiles.status();
  EXPECT_EQ(executor.loads, 2);
  EXPECT_THAT(LatenciesOf(*profiles), ElementsAre(2));
}

TEST(ProfileKernelsTest, ThreadsThatStayApartAreTakenAsTheyAre) {
  FakeExecutor executor({100});
  executor.handovers_us = {0.05, 0.2};
  executor.AllowWaits(absl::Milliseconds(10));
  const auto profiles = ProfileKernels(executor, Relus(2), kQuick);
  ASSERT_TRUE(profiles.ok()) << profiles.status();
  EXPECT_EQ(executor.loads, 4);
  EXPECT_THAT(LatenciesOf(*profiles), ElementsAre(1001, 1002));
  EXPECT_EQ(profiles->front().profile.yardsticks.drift, 0);
  EXPECT_LE(executor.wait_left(), absl::ZeroDuration());
}

TEST(ProfileKernelsTest, EndsWhenItIsAskedTo) {
  FakeExecutor executor({100});
  std::stop_source stop;
  stop.request_stop();
  EXPECT_TRUE(
      absl::IsCancelled(ProfileKernels(executor, Relus(1), kQuick, stop.get_token()).status()));
  EXPECT_EQ(executor.loads, 0);
}

}  // namespace
}  // namespace plait
