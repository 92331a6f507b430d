#include "gpu_worker/executor/measure_plans.h"

#include <deque>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/status_macros.h"
#include "optimizer/ops/evaluation/evaluate.h"
#include "tests/gpu_worker/executor/executor_fixture.h"

namespace plait {
namespace {

using testing::ElementsAre;
using testing::Gt;
using testing::HasSubstr;

using MeasurePlansTest = ExecutorFixture;

TEST_F(MeasurePlansTest, CandidatesAreComparedAndTimedBesideTheOriginal) {
  const Graph original = ParseTyped(R"(graph {
  input %x: float32[4,50]
  %a = Relu(%x)
  %b = Relu(%a)
  output %b
})");
  const Graph equal = ParseTyped(R"(graph {
  input %x: float32[4,50]
  %b = Relu(%x)
  output %b
})");
  const Graph wrong = ParseTyped(R"(graph {
  input %x: float32[4,50]
  %b = Abs(%x)
  output %b
})");
  const Plan plans[] = {PlanOf(original), PlanOf(equal), PlanOf(wrong), Plan()};
  const CandidatePlan candidates[] = {
      {&original, &plans[0]}, {&equal, &plans[1]}, {&wrong, &plans[2]}, {&equal, &plans[3]}};
  const auto measurements = MeasurePlans(*executor_, candidates, NoWeights(), {.rounds = 4});
  ASSERT_TRUE(measurements.ok()) << measurements.status();
  ASSERT_EQ(measurements->size(), 4u);
  EXPECT_EQ((*measurements)[0]->equivalence.verdict, Verdict::kEquivalent);
  EXPECT_EQ((*measurements)[1]->equivalence.verdict, Verdict::kEquivalent);
  EXPECT_EQ((*measurements)[2]->equivalence.verdict, Verdict::kDifferent);
  EXPECT_EQ((*measurements)[1]->equivalence.inputs_tried, 3);
  for (int i = 0; i < 3; ++i) EXPECT_EQ((*measurements)[i]->latency_us.size(), 4u);
  EXPECT_THAT(std::string((*measurements)[3].status().message()), HasSubstr("plan"));
}

TEST_F(MeasurePlansTest, LoadsByTheCandidatesOwnFunctionAnewEachTime) {
  const Graph graph = ParseTyped(R"(graph {
  input %x: float32[4,50]
  %b = Relu(%x)
  output %b
})");
  const Plan plan = PlanOf(graph);
  const Plan none;
  int loads = 0;
  const ExecutableLoader load = [&] {
    ++loads;
    return executor_->Load(graph, plan, NoWeights());
  };
  const CandidatePlan candidates[] = {{&graph, &plan}, {&graph, &none, load}};
  const auto measurements =
      MeasurePlans(*executor_, candidates, NoWeights(), {.loads = 2, .rounds = 1, .rounds_min = 1});
  ASSERT_TRUE(measurements.ok()) << measurements.status();
  ASSERT_TRUE((*measurements)[1].ok()) << (*measurements)[1].status();
  EXPECT_EQ(loads, 2);
  EXPECT_EQ((*measurements)[1]->equivalence.verdict, Verdict::kEquivalent);
  EXPECT_EQ((*measurements)[1]->latency_us.size(), 2u);
}

// What is far from zero on the way leaves 11 or 12 bits of the input behind its point.
Graph CoarseGraph(const std::string& first, const std::string& second) {
  return ParseTyped(
      "graph {\n  input %x: float32[4,500]\n  const %a: float32[] = [4096.25]\n"
      "  const %b: float32[] = [4096.249]\n  %y = " +
      first + "\n  %z = " + second + "\n  output %z\n}\n");
}

// The first two lose their twelfth bit on one side of zero each. What is wrong is so by twice the
// eleventh.
TEST_F(MeasurePlansTest, RoundingIsJudgedByExactOutputs) {
  const Graph original = CoarseGraph("Add(%x, %a)", "Sub(%y, %a)");
  const Graph rounded = CoarseGraph("Sub(%a, %x)", "Sub(%a, %y)");
  const Graph shifted = CoarseGraph("Add(%x, %a)", "Sub(%y, %b)");
  const Plan plans[] = {PlanOf(original), PlanOf(rounded), PlanOf(shifted)};
  const CandidatePlan candidates[] = {
      {&original, &plans[0]}, {&rounded, &plans[1]}, {&shifted, &plans[2]}};
  MeasureOptions options = {.rounds = 3, .random_inputs = 1, .rel_error_max = 1e-4};
  auto measured = MeasurePlans(*executor_, candidates, NoWeights(), options);
  ASSERT_TRUE(measured.ok()) << measured.status();
  for (int i = 1; i < 3; ++i) {
    EXPECT_EQ((*measured)[i]->equivalence.verdict, Verdict::kDifferent);
    EXPECT_TRUE(MayBeRounding((*measured)[i]->equivalence));
    EXPECT_EQ((*measured)[i]->equivalence.exact_ratio, 0);
  }
  options.judges_rounding = true;
  measured = MeasurePlans(*executor_, candidates, NoWeights(), options);
  ASSERT_TRUE(measured.ok()) << measured.status();
  EXPECT_EQ((*measured)[0]->equivalence.exact_ratio, 0) << "equals itself";
  EXPECT_EQ((*measured)[1]->equivalence.verdict, Verdict::kEquivalent);
  EXPECT_NEAR((*measured)[1]->equivalence.exact_ratio, 1, 0.2);
  EXPECT_EQ((*measured)[2]->equivalence.verdict, Verdict::kDifferent);
  EXPECT_GT((*measured)[2]->equivalence.exact_ratio, kExactRatioMax);
}

// Equal between -1 and 1, which is all that uniform inputs would show.
TEST_F(MeasurePlansTest, InputsReachWhereAFunctionSaturates) {
  const Graph original = ParseTyped(R"(graph {
  input %x: float32[4,50]
  const %low: float32[] = [-1.0]
  const %high: float32[] = [1.0]
  %y = Clip(%x, %low, %high)
  output %y
})");
  const Graph wrong = ParseTyped(R"(graph {
  input %x: float32[4,50]
  %y = Identity(%x)
  output %y
})");
  const Plan plans[] = {PlanOf(original), PlanOf(wrong)};
  const CandidatePlan candidates[] = {{&original, &plans[0]}, {&wrong, &plans[1]}};
  const auto measurements = MeasurePlans(*executor_, candidates, NoWeights(), {.rounds = 3});
  ASSERT_TRUE(measurements.ok()) << measurements.status();
  EXPECT_EQ((*measurements)[0]->equivalence.verdict, Verdict::kEquivalent);
  EXPECT_EQ((*measurements)[1]->equivalence.verdict, Verdict::kDifferent);
}

// Equal on all that random inputs reach, which is less than 20.
TEST_F(MeasurePlansTest, GivenInputsShowWhatRandomOnesNeverReach) {
  const Graph original = ParseTyped(R"(graph {
  input %x: float32[4]
  const %low: float32[] = [-100.0]
  const %high: float32[] = [100.0]
  %y = Clip(%x, %low, %high)
  output %y
})");
  const Graph wrong = ParseTyped(R"(graph {
  input %x: float32[4]
  %y = Identity(%x)
  output %y
})");
  const Plan plans[] = {PlanOf(original), PlanOf(wrong)};
  const CandidatePlan candidates[] = {{&original, &plans[0]}, {&wrong, &plans[1]}};
  MeasureOptions options;
  auto measurements = MeasurePlans(*executor_, candidates, NoWeights(), options);
  ASSERT_TRUE(measurements.ok()) << measurements.status();
  EXPECT_EQ((*measurements)[1]->equivalence.verdict, Verdict::kEquivalent);
  options.given_inputs = {{Tensor::Of<float>({4}, {1, 2, 3, 4})},
                          {Tensor::Of<float>({4}, {1, 2, 3, 1000})}};
  measurements = MeasurePlans(*executor_, candidates, NoWeights(), options);
  ASSERT_TRUE(measurements.ok()) << measurements.status();
  EXPECT_EQ((*measurements)[0]->equivalence.verdict, Verdict::kEquivalent);
  EXPECT_EQ((*measurements)[1]->equivalence.verdict, Verdict::kDifferent);
  EXPECT_EQ((*measurements)[1]->equivalence.max_abs_error, 900);
  EXPECT_EQ((*measurements)[1]->equivalence.inputs_tried, 5);
}

// Whoever gave it is told, and the measurement is not tried again.
TEST_F(MeasurePlansTest, AGivenInputThatTheOriginalCannotRunOnIsNamed) {
  const Graph graph = ParseTyped(R"(graph {
  input %i: int64[2]
  const %table: float32[3] = [1.0, 2.0, 3.0]
  %y = Gather(%table, %i) {axis=0}
  output %y
})");
  const Plan plan = PlanOf(graph);
  const CandidatePlan candidates[] = {{&graph, &plan}};
  MeasureOptions options;
  options.given_inputs = {{Tensor::Of<int64_t>({2}, {0, 2})}, {Tensor::Of<int64_t>({2}, {0, 3})}};
  const absl::Status status = MeasurePlans(*executor_, candidates, NoWeights(), options).status();
  EXPECT_TRUE(absl::IsOutOfRange(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("input_sets[1]: the model cannot run on it: "));
}

// The logarithm of what is never positive is NaN, in any plan.
TEST_F(MeasurePlansTest, AModelThatGivesNothingButNanIsInconclusive) {
  const Graph graph = ParseTyped(R"(graph {
  input %x: float32[4,50]
  const %one: float32[] = [1.0]
  %a = Abs(%x)
  %n = Neg(%a)
  %s = Sub(%n, %one)
  %y = Log(%s)
  output %y
})");
  const Plan plan = PlanOf(graph);
  const CandidatePlan candidates[] = {{&graph, &plan}, {&graph, &plan}};
  const auto measurements = MeasurePlans(*executor_, candidates, NoWeights(), {.rounds = 3});
  ASSERT_TRUE(measurements.ok()) << measurements.status();
  EXPECT_EQ((*measurements)[1]->equivalence.verdict, Verdict::kInconclusive);
}

TEST_F(MeasurePlansTest, TheOriginalsErrorIsTheCalls) {
  const Graph graph = ParseTyped(R"(graph {
  input %x: float32[4]
  %y = Relu(%x)
  output %y
})");
  const Plan empty;
  const CandidatePlan candidates[] = {{&graph, &empty}};
  EXPECT_TRUE(absl::IsInvalidArgument(
      MeasurePlans(*executor_, candidates, NoWeights(), {.rounds = 3}).status()));
  EXPECT_TRUE(
      absl::IsInvalidArgument(MeasurePlans(*executor_, {}, NoWeights(), {.rounds = 3}).status()));
}

// Notes how often its runs are timed.
class NotingExecutable : public Executable {
 public:
  NotingExecutable(std::unique_ptr<Executable> executable, std::vector<int>& repeats)
      : executable_(std::move(executable)), repeats_(repeats) {}
  absl::StatusOr<std::vector<Tensor>> Run(absl::Span<const Tensor> inputs) override {
    return executable_->Run(inputs);
  }
  absl::StatusOr<std::vector<double>> Time(int repeats) override {
    repeats_.push_back(repeats);
    clock_ = {.mhz_min = 1980, .mhz_max = 1980, .spans = clock_.spans + repeats};
    return executable_->Time(repeats);
  }
  DeviceClock TakeClock() override { return std::exchange(clock_, {}); }
  absl::Status SetInputs(absl::Span<const Tensor> inputs) override {
    return executable_->SetInputs(inputs);
  }
  void EvictCaches() override { executable_->EvictCaches(); }
  int fallback_nodes() const override { return executable_->fallback_nodes(); }

 private:
  std::unique_ptr<Executable> executable_;
  std::vector<int>& repeats_;
  DeviceClock clock_;
};

// Notes the nodes of each graph that is loaded.
class NotingExecutor : public Executor {
 public:
  explicit NotingExecutor(Executor& executor) : executor_(executor) {}
  const DeviceDescription& device() const override { return executor_.device(); }
  double ReadHandoverUs() override {
    if (handovers_us.empty()) return 0;
    const double us = handovers_us.front();
    handovers_us.pop_front();
    repeats.push_back(us > 0.1 ? kFar : kNear);
    return us;
  }

  static constexpr int kNear = -1;
  static constexpr int kFar = -2;
  std::deque<double> handovers_us;
  std::vector<int> loaded;
  std::vector<int> repeats;  // and between them, what was read of the threads

 private:
  absl::StatusOr<std::unique_ptr<Executable>> LoadChecked(const Graph& graph, const Plan& plan,
                                                          const WeightSource& weights) override {
    loaded.push_back(graph.node_count());
    PLAIT_ASSIGN_OR_RETURN(std::unique_ptr<Executable> executable,
                           executor_.Load(graph, plan, weights));
    return std::make_unique<NotingExecutable>(std::move(executable), repeats);
  }

  Executor& executor_;
};

// Of two equal plans with hundreds of small kernels the one that was always loaded second was
// judged to be faster in 9 of 16 trials.
TEST_F(MeasurePlansTest, EachCandidateIsLoadedFirstAsOftenAsLast) {
  const Graph one = ParseTyped("graph {\n  input %x: float32[4]\n  %y = Relu(%x)\n  output %y\n}");
  const Graph two = ParseTyped(R"(graph {
  input %x: float32[4]
  %a = Relu(%x)
  %y = Relu(%a)
  output %y
})");
  const Plan plans[] = {PlanOf(one), PlanOf(two)};
  const CandidatePlan candidates[] = {{&one, &plans[0]}, {&two, &plans[1]}};
  NotingExecutor noting(*executor_);
  ASSERT_TRUE(MeasurePlans(noting, candidates, NoWeights(), {.loads = 4, .rounds = 1}).ok());
  EXPECT_THAT(noting.loaded, ElementsAre(1, 2, 2, 1, 1, 2, 2, 1));
}

// A sample behind one run that is not timed told which plan had run before: plans of a millisecond
// differed from themselves by a third from round to round.
TEST_F(MeasurePlansTest, AShortPlanSettlesBeforeItIsTimed) {
  const Graph graph =
      ParseTyped("graph {\n  input %x: float32[4]\n  %y = Relu(%x)\n  output %y\n}");
  const Plan plan = PlanOf(graph);
  const CandidatePlan candidates[] = {{&graph, &plan}};
  NotingExecutor noting(*executor_);
  const auto measured = MeasurePlans(noting, candidates, NoWeights(), {.loads = 1, .rounds = 3});
  ASSERT_TRUE(measured.ok()) << measured.status();
  EXPECT_THAT(noting.repeats, ElementsAre(1, 1, 8, 3, 8, 3, 8, 3));
  // Only what is a sample.
  EXPECT_EQ((*measured)[0]->clock, (DeviceClock{1980, 1980, 3 * 3, 0, {}}));
}

TEST_F(MeasurePlansTest, NoRoundBeginsWhileThreadsAreFarFromEachOther) {
  const Graph graph =
      ParseTyped("graph {\n  input %x: float32[4]\n  %y = Relu(%x)\n  output %y\n}");
  const Plan plan = PlanOf(graph);
  const CandidatePlan candidates[] = {{&graph, &plan}};
  NotingExecutor noting(*executor_);
  noting.handovers_us = {0.05, 0.2, 0.2, 0.05};
  noting.AllowWaits(absl::Seconds(30));
  ASSERT_TRUE(MeasurePlans(noting, candidates, NoWeights(), {.loads = 1, .rounds = 3}).ok());
  constexpr int kNear = NotingExecutor::kNear;
  constexpr int kFar = NotingExecutor::kFar;
  EXPECT_THAT(noting.repeats, ElementsAre(1, 1, kNear, 8, 3, kFar, kFar, kNear, 8, 3, 8, 3));
}

class MeasureLoadsTest : public MeasurePlansTest {
 protected:
  absl::StatusOr<CandidateMeasurement> Measure(const MeasureOptions& options) {
    const Graph graph = ParseTyped(R"(graph {
  input %x: float32[4]
  %y = Relu(%x)
  output %y
})");
    const Plan plan = PlanOf(graph);
    const CandidatePlan candidates[] = {{&graph, &plan}};
    const auto measurements = MeasurePlans(*executor_, candidates, NoWeights(), options);
    if (!measurements.ok()) return measurements.status();
    return (*measurements)[0];
  }
};

TEST_F(MeasureLoadsTest, TheLeastRoundsAreMeasuredWhateverTheTime) {
  const auto measured = Measure({.rounds = 10, .time_max = absl::ZeroDuration()});
  ASSERT_TRUE(measured.ok()) << measured.status();
  EXPECT_EQ(measured->latency_us.size(), 3u);
  EXPECT_THAT(measured->load_rounds, ElementsAre(3));
}

TEST_F(MeasureLoadsTest, EveryLoadHasItsRounds) {
  const auto measured = Measure({.loads = 3, .rounds = 4});
  ASSERT_TRUE(measured.ok()) << measured.status();
  EXPECT_EQ(measured->latency_us.size(), 12u);
  EXPECT_THAT(measured->load_rounds, ElementsAre(4, 4, 4));
  EXPECT_THAT(measured->load_ms, ElementsAre(Gt(0), Gt(0), Gt(0)));
  EXPECT_EQ(measured->equivalence.inputs_tried, 3);
}

// One load proves nothing, however many rounds it has, and a few that differ prove little.
TEST_F(MeasureLoadsTest, TheLeastRoundsAreThoseOfFiveLoads) {
  const auto measured =
      Measure({.loads = 6, .rounds = 20, .rounds_min = 15, .time_max = absl::ZeroDuration()});
  ASSERT_TRUE(measured.ok()) << measured.status();
  EXPECT_THAT(measured->load_rounds, ElementsAre(3, 3, 3, 3, 3));
  const auto fewer =
      Measure({.loads = 2, .rounds = 20, .rounds_min = 15, .time_max = absl::ZeroDuration()});
  ASSERT_TRUE(fewer.ok()) << fewer.status();
  EXPECT_THAT(fewer->load_rounds, ElementsAre(8, 8));
}

TEST_F(MeasureLoadsTest, EndsWhenItIsAskedTo) {
  std::stop_source source;
  source.request_stop();
  EXPECT_TRUE(absl::IsCancelled(Measure({.stop = source.get_token()}).status()));
}

}  // namespace
}  // namespace plait
