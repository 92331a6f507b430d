#include "server/search_child/measurement_source.h"

#include <cmath>
#include <functional>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/file_descriptor.h"
#include "optimizer/search/plan_graph.h"
#include "proto/wire/error.h"
#include "tests/base/manual_clock.h"
#include "tests/fakes/fake_device.h"

namespace plait {
namespace {

using testing::ElementsAre;

ProfileKey SampleKey() {
  ProfileKey key;
  key.device_fingerprint = "cpu-1";
  key.family = "conv";
  key.variant = "winograd";
  key.version = "0123abcd";
  key.width = 4;
  key.cold_weights = true;
  key.graph_text = "graph {\n}\n";
  key.formats = "plain,channels_last";
  return key;
}

// A product and its plan on a fake device.
PlanCandidate SampleCandidate() {
  PlanCandidate candidate;
  candidate.id = "c1";
  candidate.graph = GraphOf(R"(graph {
    input %x: float32[2,8]
    const %w: float32[8,8] = synthetic 1
    %p = MatMul(%x, %w) {}
    output %p
  })");
  const DeviceDescription device = FakeDevice(1);
  const FakeCatalog catalog(1);
  FakeProfiler profiler;
  MeasurementLog log;
  ProfileCache profiles(profiler, log);
  UnlimitedBudget budget;
  BudgetedProfiles budgeted(profiles, budget, log);
  const absl::StatusOr<PlannedGraph> planned =
      PlanBaseline(candidate.graph, {device, catalog, profiles, {}},
                   {device.fingerprint, "", device.threads}, budgeted);
  EXPECT_TRUE(planned.ok()) << planned.status();
  if (planned.ok()) candidate.plan = planned->plan;
  return candidate;
}

// The daemon's end of the socket is the test's: what it will say is written before it is asked, so
// that nothing has to wait.
class MeasurementSourceTest : public testing::Test {
 protected:
  MeasurementSourceTest() {
    int sockets[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
    daemon_ = FileDescriptor(sockets[0]);
    child_ = FileDescriptor(sockets[1]);
    connection_ = std::make_unique<ChildConnection>(child_.number());
  }

  void Say(const internal::ParentMessage& message) {
    EXPECT_TRUE(WriteAll(daemon_.number(), *FrameOf(message)).ok());
  }

  // The source that the child makes of `start_`.
  absl::StatusOr<std::unique_ptr<MeasurementSource>> Make() {
    internal::ParentMessage message;
    *message.mutable_start() = start_;
    Say(message);
    const absl::StatusOr<internal::Start> heard = connection_->ReadStart();
    EXPECT_TRUE(heard.ok()) << heard.status();
    return MakeMeasurementSource(
        {*heard, clock_.Monotonic() + absl::Minutes(1), heard->replay_log()}, *connection_, clock_);
  }

  void AnswerFirstQuestion(const worker::v1::KernelProfile& profile) {
    internal::ParentMessage message;
    message.mutable_profile_reply()->set_request_number(1);
    *message.mutable_profile_reply()->mutable_result()->mutable_profile()->add_profiles() = profile;
    Say(message);
  }

  // How long the next task may wait, whose worker then says that it has waited so long.
  double WaitAllowedToTask(int64_t number, MeasurementSource& source, double waited_seconds) {
    internal::ParentMessage message;
    message.mutable_profile_reply()->set_request_number(number);
    worker::v1::TaskResult& result = *message.mutable_profile_reply()->mutable_result();
    result.mutable_profile()->add_profiles();
    result.set_waited_seconds(waited_seconds);
    Say(message);
    EXPECT_TRUE(source.profiler().Measure({{SampleKey()}}).ok());
    return HearQuestion().profile_request().task().wait_seconds_max();
  }

  // What the source says of the first step's error when the worker has measured that.
  absl::StatusOr<std::vector<LayerError>> ErrorsWhenAnswered(
      const worker::v1::CandidateMeasurement& answer) {
    const auto source = Make();
    if (!source.ok()) return source.status();
    internal::ParentMessage message;
    message.mutable_measure_reply()->set_request_number(1);
    *message.mutable_measure_reply()->mutable_result()->mutable_measure()->add_candidates() =
        answer;
    Say(message);
    return (*source)->verifier().MeasureErrors(SampleCandidate(), {0});
  }

  // What the source says of the times of a candidate's steps when that was measured.
  absl::StatusOr<std::vector<std::vector<double>>> StepTimesWhenAnswered(
      const worker::v1::CandidateMeasurement& answer) {
    const auto source = Make();
    if (!source.ok()) return source.status();
    internal::ParentMessage message;
    message.mutable_measure_reply()->set_request_number(1);
    *message.mutable_measure_reply()->mutable_result()->mutable_measure()->add_candidates() =
        answer;
    Say(message);
    return (*source)->verifier().TimeSteps({SampleCandidate()}, {.rounds = 5});
  }

  // Asks the budget, which asks the daemon; and the daemon says that.
  bool WhenStoppedFor(absl::Duration stopped, const std::function<bool()>& ask) {
    std::thread daemon([&] {
      EXPECT_TRUE(HearQuestion().has_stopped_time_request());
      internal::ParentMessage message;
      message.mutable_stopped_time_reply()->set_stopped_us(absl::ToInt64Microseconds(stopped));
      Say(message);
    });
    const bool answer = ask();
    daemon.join();
    return answer;
  }
  bool AllowsWhenStoppedFor(absl::Duration stopped, MeasurementSource& source, int64_t step) {
    return WhenStoppedFor(stopped, [&] { return source.budget().Allows(step); });
  }

  internal::ChildMessage HearQuestion() {
    internal::ChildMessage message;
    FrameReader reader(kChildMessageParsedBytesMax);
    EXPECT_TRUE(ReadFrame(daemon_.number(), reader, &message).ok());
    return message;
  }

  ManualClock clock_;
  internal::Start start_;
  FileDescriptor daemon_;
  FileDescriptor child_;
  std::unique_ptr<ChildConnection> connection_;
};

TEST_F(MeasurementSourceTest, ReplaysALogWithoutAsking) {
  MeasurementLog log;
  const Profile profile = {.latency_us_median = 3, .samples = 5};
  log.AddProfile(SampleKey().ToString(), profile);
  log.set_exhausted_at_step(1);
  log.AddTimeAnswer(true);
  log.AddTimeAnswer(false);
  log.set_load_effect({0.02, 20});
  log.set_yardsticks({400'000, 30'000, 0});
  start_.mutable_options()->mutable_measurement_log();
  start_.set_replay_log(log.ToText());
  const auto source = Make();
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_THAT(*(*source)->profiler().Measure({{SampleKey()}}), ElementsAre(profile));
  EXPECT_EQ(*(*source)->profiler().ReadYardsticks(), log.yardsticks());
  EXPECT_TRUE((*source)->budget().Allows(0));
  EXPECT_FALSE((*source)->budget().Allows(1));
  EXPECT_TRUE((*source)->budget().HasSeconds(1e9));
  EXPECT_FALSE((*source)->budget().HasSeconds(0));
  EXPECT_FALSE((*source)->budget().HasSeconds(0)) << "beyond the log";
  EXPECT_EQ((*source)->load_effect().deviation, 0.02);
  EXPECT_EQ((*source)->profiling_time(), absl::ZeroDuration());
}

TEST_F(MeasurementSourceTest, RefusesALogThatIsNone) {
  start_.mutable_options()->mutable_measurement_log();
  start_.set_replay_log("something else");
  const absl::Status status = Make().status();
  EXPECT_EQ(wire::ReasonOf(status), v1::ERROR_REASON_INVALID_REQUEST);
}

TEST_F(MeasurementSourceTest, ATaskThatFailedSaysWhy) {
  const auto source = Make();
  ASSERT_TRUE(source.ok()) << source.status();
  internal::ParentMessage message;
  message.mutable_profile_reply()->set_request_number(1);
  worker::v1::TaskError& error =
      *message.mutable_profile_reply()->mutable_result()->mutable_error();
  error.set_code(static_cast<int>(absl::StatusCode::kAborted));
  error.set_message("worker w1 died");
  Say(message);
  EXPECT_EQ((*source)->profiler().Measure({{SampleKey()}}).status(),
            wire::Error(v1::ERROR_REASON_CRASHED, "worker w1 died"));
}

TEST_F(MeasurementSourceTest, StepsEndWithTheBudget) {
  const auto source = Make();
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_TRUE((*source)->budget().Allows(0));
  clock_.Advance(absl::Seconds(59));
  EXPECT_TRUE((*source)->budget().Allows(1));
  clock_.Advance(absl::Seconds(1));
  EXPECT_FALSE(AllowsWhenStoppedFor(absl::ZeroDuration(), **source, 2));
}

TEST_F(MeasurementSourceTest, TimeThatOthersTookIsNotOfTheBudget) {
  const auto source = Make();
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_TRUE((*source)->budget().Allows(0));
  clock_.Advance(absl::Seconds(75));
  EXPECT_TRUE(AllowsWhenStoppedFor(absl::Seconds(20), **source, 1));
  clock_.Advance(absl::Seconds(1));
  EXPECT_TRUE((*source)->budget().Allows(2));
  clock_.Advance(absl::Seconds(4));
  EXPECT_TRUE(AllowsWhenStoppedFor(absl::Seconds(21), **source, 3));
  clock_.Advance(absl::Seconds(1));
  EXPECT_FALSE(AllowsWhenStoppedFor(absl::Seconds(21), **source, 4));
}

TEST_F(MeasurementSourceTest, TimeInWhichTheDeviceWasWaitedForIsNotOfTheBudget) {
  const auto source = Make();
  ASSERT_TRUE(source.ok()) << source.status();
  connection_->AllowWaits(absl::Seconds(15), absl::Seconds(20));
  EXPECT_EQ(WaitAllowedToTask(1, **source, 12), 15);
  EXPECT_EQ(WaitAllowedToTask(2, **source, std::nan("")), 8);
  EXPECT_EQ(WaitAllowedToTask(3, **source, 100), 8) << "a worker waits no longer than it may";
  EXPECT_EQ(WaitAllowedToTask(4, **source, 0), 0);
  EXPECT_TRUE((*source)->budget().Allows(0));
  clock_.Advance(absl::Seconds(79));
  EXPECT_TRUE(AllowsWhenStoppedFor(absl::ZeroDuration(), **source, 1));
  clock_.Advance(absl::Seconds(1));
  EXPECT_FALSE(AllowsWhenStoppedFor(absl::ZeroDuration(), **source, 2));
}

TEST_F(MeasurementSourceTest, TheMostMemoryThatAWorkerNeededIsKnown) {
  const auto source = Make();
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_EQ(connection_->worker_peak_memory_bytes(), 0);
  int64_t number = 0;
  for (const int64_t peak_bytes : {1000, 3000, 2000}) {
    internal::ParentMessage message;
    message.mutable_profile_reply()->set_request_number(++number);
    worker::v1::TaskResult& result = *message.mutable_profile_reply()->mutable_result();
    result.mutable_profile()->add_profiles();
    result.set_peak_memory_bytes(peak_bytes);
    Say(message);
    EXPECT_TRUE((*source)->profiler().Measure({{SampleKey()}}).ok());
  }
  EXPECT_EQ(connection_->worker_peak_memory_bytes(), 3000);
}

TEST_F(MeasurementSourceTest, TheBudgetEndsWithTheDaemon) {
  const auto source = Make();
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_TRUE((*source)->budget().Allows(0));
  daemon_ = FileDescriptor();
  clock_.Advance(absl::Seconds(60));
  EXPECT_FALSE((*source)->budget().Allows(1));
}

TEST_F(MeasurementSourceTest, WhatIsReservedIsLeftForTheVerification) {
  const auto source = Make();
  ASSERT_TRUE(source.ok()) << source.status();
  Budget& budget = (*source)->budget();
  budget.Reserve(20);
  clock_.Advance(absl::Seconds(39));
  EXPECT_TRUE(budget.Allows(0));
  clock_.Advance(absl::Seconds(1));
  EXPECT_FALSE(AllowsWhenStoppedFor(absl::ZeroDuration(), **source, 1));
  EXPECT_TRUE(budget.HasSeconds(19));
  EXPECT_FALSE(WhenStoppedFor(absl::ZeroDuration(), [&] { return budget.HasSeconds(21); }));
}

// A GPU's worker may compile for seconds before it measures a batch.
TEST_F(MeasurementSourceTest, LongStepsEndEarlier) {
  const auto source = Make();
  ASSERT_TRUE(source.ok()) << source.status();
  Budget& budget = (*source)->budget();
  budget.Reserve(5);
  EXPECT_TRUE(budget.Allows(0));
  for (int step = 1; step < 4; ++step) {
    clock_.Advance(absl::Seconds(12));
    EXPECT_TRUE(budget.Allows(step));
  }
  // Another one of 12 s would end at 60.
  clock_.Advance(absl::Seconds(12));
  EXPECT_FALSE(AllowsWhenStoppedFor(absl::ZeroDuration(), **source, 4));
  EXPECT_TRUE(budget.HasSeconds(5)) << "what was reserved is there";
}

TEST_F(MeasurementSourceTest, OneLongStepIsNoReasonToEndEarlier) {
  const auto source = Make();
  ASSERT_TRUE(source.ok()) << source.status();
  Budget& budget = (*source)->budget();
  EXPECT_TRUE(budget.Allows(0));
  clock_.Advance(absl::Seconds(1));
  EXPECT_TRUE(budget.Allows(1));
  clock_.Advance(absl::Seconds(50));
  EXPECT_TRUE(budget.Allows(2));
}

TEST_F(MeasurementSourceTest, ATaskMayTakeMostOfWhatTheDaemonAllows) {
  start_.set_task_seconds_max(600);
  const auto limited = Make();
  ASSERT_TRUE(limited.ok()) << limited.status();
  EXPECT_TRUE((*limited)->budget().AllowsTask(479));
  EXPECT_FALSE((*limited)->budget().AllowsTask(481));
}

TEST_F(MeasurementSourceTest, WithoutALimitATaskMayTakeAnyTime) {
  const auto source = Make();
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_TRUE((*source)->budget().AllowsTask(1e9));
}

TEST_F(MeasurementSourceTest, AskedKernelsStandInFields) {
  const auto source = Make();
  ASSERT_TRUE(source.ok()) << source.status();
  worker::v1::KernelProfile answer;
  answer.mutable_profile()->set_latency_us_median(7);
  answer.mutable_profile()->set_samples(50);
  AnswerFirstQuestion(answer);
  const auto profiles = (*source)->profiler().Measure({{SampleKey()}});
  ASSERT_TRUE(profiles.ok()) << profiles.status();
  EXPECT_EQ(profiles->front().latency_us_median, 7);
  const worker::v1::ProfileTask task = HearQuestion().profile_request().task();
  EXPECT_EQ(task.device_fingerprint(), "") << "the daemon fills it in";
  ASSERT_EQ(task.kernels_size(), 1);
  const worker::v1::KernelRequest& kernel = task.kernels(0);
  EXPECT_EQ(kernel.key(), SampleKey().ToString());
  EXPECT_EQ(kernel.family(), "conv");
  EXPECT_EQ(kernel.variant(), "winograd");
  EXPECT_EQ(kernel.version(), "0123abcd");
  EXPECT_EQ(kernel.width(), 4);
  EXPECT_TRUE(kernel.cold_weights());
  EXPECT_THAT(kernel.formats(), ElementsAre("plain", "channels_last"));
  EXPECT_EQ(kernel.graph_text(), SampleKey().graph_text);
}

TEST_F(MeasurementSourceTest, YardsticksAreAskedForByATaskWithoutKernels) {
  const auto source = Make();
  ASSERT_TRUE(source.ok()) << source.status();
  internal::ParentMessage message;
  message.mutable_profile_reply()->set_request_number(1);
  v1::Yardsticks& answer =
      *message.mutable_profile_reply()->mutable_result()->mutable_profile()->mutable_yardsticks();
  answer.set_multiply_add_flops_per_us(400'000);
  answer.set_read_bytes_per_us(30'000);
  Say(message);
  const absl::StatusOr<Yardsticks> yardsticks = (*source)->profiler().ReadYardsticks();
  ASSERT_TRUE(yardsticks.ok()) << yardsticks.status();
  EXPECT_EQ(*yardsticks, (Yardsticks{400'000, 30'000, 0}));
  const internal::ChildMessage question = HearQuestion();
  ASSERT_TRUE(question.has_profile_request());
  EXPECT_EQ(question.profile_request().task().kernels_size(), 0);
}

TEST_F(MeasurementSourceTest, AKernelThatCannotRunHasNoSamples) {
  const auto source = Make();
  ASSERT_TRUE(source.ok()) << source.status();
  worker::v1::KernelProfile answer;
  answer.set_error("no such kernel");
  AnswerFirstQuestion(answer);
  const auto profiles = (*source)->profiler().Measure({{SampleKey()}});
  ASSERT_TRUE(profiles.ok()) << profiles.status();
  EXPECT_EQ(profiles->front().samples, 0);
  EXPECT_THAT((*source)->kernel_failures(), ElementsAre("conv winograd: no such kernel"));
}

// As the daemon does when it stores profiles, and the child when it loads them.
TEST_F(MeasurementSourceTest, ATimeThatIsNoneIsNotBelieved) {
  const auto source = Make();
  ASSERT_TRUE(source.ok()) << source.status();
  worker::v1::KernelProfile answer;
  answer.mutable_profile()->set_latency_us_median(-1);
  answer.mutable_profile()->set_samples(50);
  AnswerFirstQuestion(answer);
  const auto profiles = (*source)->profiler().Measure({{SampleKey()}});
  ASSERT_TRUE(profiles.ok()) << profiles.status();
  EXPECT_EQ(profiles->front().samples, 0);
}

TEST_F(MeasurementSourceTest, AsksForTheErrorsOfSteps) {
  start_.mutable_options()->set_seed(7);
  v1::InputValue& given = *start_.mutable_options()->add_input_sets()->add_values();
  given.set_name("x");
  given.mutable_blob()->set_size_bytes(64);
  worker::v1::CandidateMeasurement answer;
  worker::v1::StepError& error = *answer.add_step_errors();
  error.set_error(0.1);
  error.set_serial_error(0.2);
  error.set_hard_error(0.3);
  error.set_serial_hard_error(0.4);
  const absl::StatusOr<std::vector<LayerError>> errors = ErrorsWhenAnswered(answer);
  ASSERT_TRUE(errors.ok()) << errors.status();
  EXPECT_THAT(*errors, ElementsAre(LayerError{0.1, 0.2, 0.3, 0.4}));
  const worker::v1::MeasureTask task = HearQuestion().measure_request().task();
  EXPECT_TRUE(task.errors_only());
  EXPECT_EQ(task.seed(), 7u);
  EXPECT_EQ(task.input_sets_size(), 1);
  ASSERT_EQ(task.candidates_size(), 1);
  EXPECT_EQ(task.candidates(0).id(), "c1");
  EXPECT_EQ(task.candidates(0).plan_text(), PrintPlan(SampleCandidate().plan));
  EXPECT_THAT(task.candidates(0).error_steps(), ElementsAre(0));
}

TEST_F(MeasurementSourceTest, HasNoErrorsOfAPlanThatDidNotRun) {
  worker::v1::CandidateMeasurement answer;
  answer.set_error("it fell");
  const absl::StatusOr<std::vector<LayerError>> errors = ErrorsWhenAnswered(answer);
  ASSERT_TRUE(errors.ok()) << errors.status();
  EXPECT_TRUE(errors->empty());
}

TEST_F(MeasurementSourceTest, RefusesTheErrorsOfOtherSteps) {
  worker::v1::CandidateMeasurement answer;
  answer.add_step_errors();
  answer.add_step_errors();
  EXPECT_EQ(ErrorsWhenAnswered(answer).status().code(), absl::StatusCode::kInternal);
}

TEST_F(MeasurementSourceTest, AsksForTheTimesOfSteps) {
  worker::v1::CandidateMeasurement answer;
  answer.add_step_us(12.5);
  const auto step_us = StepTimesWhenAnswered(answer);
  ASSERT_TRUE(step_us.ok()) << step_us.status();
  EXPECT_THAT(*step_us, ElementsAre(ElementsAre(12.5)));
  const worker::v1::MeasureTask task = HearQuestion().measure_request().task();
  EXPECT_TRUE(task.step_times_only());
  EXPECT_EQ(task.rounds(), 5);
  EXPECT_EQ(task.candidates(0).plan_text(), PrintPlan(SampleCandidate().plan));
}

TEST_F(MeasurementSourceTest, HasNoTimesOfAPlanThatDidNotRun) {
  worker::v1::CandidateMeasurement failed;
  failed.set_error("it fell");
  const auto none = StepTimesWhenAnswered(failed);
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_THAT(*none, ElementsAre(ElementsAre()));
}

TEST_F(MeasurementSourceTest, RefusesTheTimesOfOtherSteps) {
  worker::v1::CandidateMeasurement answer;
  answer.add_step_us(1);
  answer.add_step_us(2);
  EXPECT_EQ(StepTimesWhenAnswered(answer).status().code(), absl::StatusCode::kInternal);
}

TEST_F(MeasurementSourceTest, ADeadlineEndsTheBudget) {
  const auto source = Make();
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_TRUE((*source)->budget().Allows(0));
  internal::ParentMessage message;
  message.mutable_deadline();
  Say(message);
  // Messages are heard in order: when the answer is here, the deadline has been heard.
  AnswerFirstQuestion({});
  ASSERT_TRUE((*source)->profiler().Measure({{SampleKey()}}).ok());
  EXPECT_FALSE((*source)->budget().Allows(1));
}

}  // namespace
}  // namespace plait
