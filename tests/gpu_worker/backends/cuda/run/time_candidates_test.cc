#include "gpu_worker/backends/cuda/run/time_candidates.h"

#include <algorithm>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu_worker/backends/cuda/run/implementations.h"
#include "tests/gpu_worker/backends/cuda/run/scripted_runtime.h"
#include "tests/gpu_worker/backends/cuda/run/timing_fixture.h"

namespace plait::cuda {
namespace {

using testing::Each;
using testing::Ge;
using testing::HasSubstr;
using testing::SizeIs;

// Answers a launch, and computes nothing.
class IdleCandidate : public Candidate {
 public:
  explicit IdleCandidate(Status answer, size_t workspace_bytes = 512)
      : answer_(std::move(answer)), workspace_bytes_(workspace_bytes) {}
  std::string name() const override { return "idle"; }
  std::vector<std::string> notes() const override { return {}; }
  Status Prepare() override { return Ok(); }
  size_t workspace_bytes() const override { return workspace_bytes_; }
  Status Launch(const Operands& operands, CUstream_st* /*stream*/) override {
    EXPECT_NE(operands.workspace, nullptr);
    return answer_;
  }

 private:
  const Status answer_;
  const size_t workspace_bytes_;
};

// One that is right, and that takes so long and so much of the device.
class TimedCandidate : public Candidate {
 public:
  TimedCandidate(std::shared_ptr<Candidate> right, ScriptedRuntime* runtime, double us,
                 double share)
      : right_(std::move(right)), runtime_(runtime), us_(us), share_(share) {}
  std::string name() const override { return right_->name(); }
  std::vector<std::string> notes() const override { return {}; }
  Status Prepare() override { return Ok(); }
  size_t workspace_bytes() const override { return right_->workspace_bytes(); }
  Status Launch(const Operands& operands, CUstream_st* stream) override {
    runtime_->Note(us_, share_);
    return right_->Launch(operands, stream);
  }

 private:
  const std::shared_ptr<Candidate> right_;
  ScriptedRuntime* const runtime_;
  const double us_;
  const double share_;
};

// One that is right by itself and captures something else: from this captured launch on.
class WrongInGraph : public TimedCandidate {
 public:
  WrongInGraph(std::shared_ptr<Candidate> right, ScriptedRuntime* runtime, double us,
               int wrong_from)
      : TimedCandidate(std::move(right), runtime, us, /*share=*/1),
        runtime_(runtime),
        right_launches_left_(wrong_from) {}
  std::string name() const override { return "wrong"; }
  Status Launch(const Operands& operands, CUstream_st* stream) override {
    PLAIT_CUDA_RETURN_IF_ERROR(TimedCandidate::Launch(operands, stream));
    if (!runtime_->is_capturing() || right_launches_left_-- > 0) return Ok();
    return runtime_->Fill(operands.outputs[0], 0, sizeof(float), stream);
  }

 private:
  ScriptedRuntime* const runtime_;
  int right_launches_left_;
};

class TimeCandidatesTest : public TimingTest<ScriptedRuntime> {
 protected:
  void SetUp() override {
    TimingTest::SetUp();
    step_.kind = StepProblem::Kind::kLaunch;
    step_.problem.problem =
        RowsProblem{.kind = RowsProblem::Kind::kSoftmax, .rows = 3, .columns = 50};
    step_.shape = ShapeOf(step_.problem.problem).value();
  }

  std::vector<std::unique_ptr<Candidate>> Generated() { return TimingTest::Generated(step_); }

  Result<CandidateChoice> Choose(const std::vector<std::unique_ptr<Candidate>>& candidates) {
    return TimingTest::Choose(candidates, step_);
  }

  // The choice among candidates of such times and shares.
  CandidateChoice ChoiceOf(const std::vector<std::pair<double, double>>& candidates) {
    const std::shared_ptr<Candidate> right = std::move(Generated().front());
    std::vector<std::unique_ptr<Candidate>> timed;
    for (const auto& [us, share] : candidates) {
      timed.push_back(std::make_unique<TimedCandidate>(right, &runtime_, us, share));
    }
    const Result<CandidateChoice> choice = Choose(timed);
    EXPECT_TRUE(choice.ok()) << choice.error().message;
    return choice.value();
  }

  StepProblem step_;
};

TEST_F(TimeCandidatesTest, LeavesOutWhatIsWrongOrRefused) {
  std::vector<std::unique_ptr<Candidate>> candidates = Generated();
  ASSERT_GE(candidates.size(), 1u);
  const size_t right = candidates.size();
  candidates.insert(candidates.begin(), std::make_unique<IdleCandidate>(Ok()));
  candidates.insert(candidates.begin(),
                    std::make_unique<IdleCandidate>(Error{ErrorCode::kUnsupported, "it will not"}));
  const Result<CandidateChoice> choice = Choose(candidates);
  ASSERT_TRUE(choice.ok()) << choice.error().message;
  for (const size_t chosen : {choice.value().fastest, choice.value().narrowest}) {
    EXPECT_GE(chosen, 2u);
    EXPECT_LT(chosen, right + 2);
  }
}

// In the graph of a few launches by which finalists are chosen, and in that of many.
TEST_F(TimeCandidatesTest, LeavesOutWhatIsWrongInAGraphOnly) {
  for (const int wrong_from : {0, 5}) {
    const std::shared_ptr<Candidate> right = std::move(Generated().front());
    std::vector<std::unique_ptr<Candidate>> candidates;
    candidates.push_back(std::make_unique<WrongInGraph>(right, &runtime_, 10, wrong_from));
    candidates.push_back(std::make_unique<TimedCandidate>(right, &runtime_, 12, 1));
    const Result<CandidateChoice> choice = Choose(candidates);
    ASSERT_TRUE(choice.ok()) << choice.error().message;
    EXPECT_EQ(choice.value().fastest, 1u) << wrong_from;
    EXPECT_EQ(choice.value().narrowest, 1u) << wrong_from;
  }
}

TEST_F(TimeCandidatesTest, SaysThatTheOnlyOneIsWrongInAGraph) {
  std::vector<std::unique_ptr<Candidate>> candidates;
  candidates.push_back(
      std::make_unique<WrongInGraph>(std::move(Generated().front()), &runtime_, 10, 0));
  const Result<CandidateChoice> choice = Choose(candidates);
  ASSERT_FALSE(choice.ok());
  EXPECT_EQ(choice.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(choice.error().message, HasSubstr("wrong in a graph: wrong results"));
}

TEST_F(TimeCandidatesTest, ChoosesTheFastestAndTheNarrowestOfThoseNearIt) {
  const CandidateChoice choice =
      ChoiceOf({{12, 0.5}, {10, 0.9}, {12.5, 0.2}, {14, 0.1}, {11, 0.2}});
  EXPECT_EQ(choice.fastest, 1u);
  EXPECT_EQ(choice.narrowest, 4u);  // as narrow as number 2, and faster; number 3 takes too long
}

TEST_F(TimeCandidatesTest, ANarrowOneIsTimedBehindManyFastOnes) {
  const CandidateChoice choice = ChoiceOf(
      {{10, 0.9}, {10.1, 0.9}, {10.2, 0.9}, {10.3, 0.9}, {10.4, 0.9}, {12, 0.3}, {11, 0.5}});
  EXPECT_EQ(choice.fastest, 0u);
  EXPECT_EQ(choice.narrowest, 5u);
}

TEST_F(TimeCandidatesTest, TheFastestMayBeTheNarrowest) {
  const CandidateChoice choice = ChoiceOf({{12, 0.5}, {10, 0.4}});
  EXPECT_EQ(choice.fastest, 1u);
  EXPECT_EQ(choice.narrowest, 1u);
}

// However short a launch is, and all for as many launches.
TEST_F(TimeCandidatesTest, FinalistsAreTimedInSpansOfTwoMilliseconds) {
  for (const double us : {0.5, 2.0, 40.0, 900.0}) {
    runtime_.spans_us.clear();
    const CandidateChoice choice = ChoiceOf({{1.1 * us, 1}, {us, 1}});
    EXPECT_EQ(choice.fastest, 1u);
    // In turn, five times; before them each was looked at twice, and once more for the number.
    ASSERT_THAT(runtime_.spans_us, SizeIs(2 * (2 + 1 + 5)));
    const std::vector<double> spans(runtime_.spans_us.end() - 10, runtime_.spans_us.end());
    EXPECT_THAT(spans, Each(Ge(2000))) << us;
    EXPECT_LE(*std::max_element(spans.begin(), spans.end()), std::max(4500.0, 5.6 * us)) << us;
    EXPECT_NEAR(spans[1] / spans[0], 1.1, 1e-9);
  }
}

TEST_F(TimeCandidatesTest, SaysWhyNoneIsLeft) {
  std::vector<std::unique_ptr<Candidate>> candidates;
  candidates.push_back(std::make_unique<IdleCandidate>(Ok()));
  candidates.push_back(
      std::make_unique<IdleCandidate>(Error{ErrorCode::kUnsupported, "it will not"}));
  const Result<CandidateChoice> choice = Choose(candidates);
  ASSERT_FALSE(choice.ok());
  EXPECT_EQ(choice.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(choice.error().message, HasSubstr("it will not; idle: wrong results"));
}

// Beside other plans. It is asked for again when they have gone.
TEST_F(TimeCandidatesTest, ACandidateWithoutRoomIsLeftOutForNow) {
  std::vector<std::unique_ptr<Candidate>> candidates;
  candidates.push_back(std::make_unique<IdleCandidate>(Ok(), size_t{1} << 50));
  const Result<CandidateChoice> choice = Choose(candidates);
  ASSERT_FALSE(choice.ok());
  EXPECT_EQ(choice.error().code, ErrorCode::kDevice);
  EXPECT_THAT(choice.error().message, HasSubstr("CUDA_ERROR_OUT_OF_MEMORY for its workspace"));
  for (auto& candidate : Generated()) candidates.push_back(std::move(candidate));
  EXPECT_GE(Choose(candidates).value().fastest, 1u);
}

class ImplementationsTest : public TimeCandidatesTest {
 protected:
  absl::StatusOr<std::shared_ptr<Candidate>> Find(ChoiceBy choice_by = ChoiceBy::kTrial,
                                                  bool anticipates = false) {
    Implementations implementations(device_, /*has_libraries=*/false, choice_by, stream_.get(),
                                    staging_.get(), &clock_);
    if (anticipates) implementations.Anticipate({&step_, 1}, {});
    return implementations.Find(step_);
  }

  const CudaDevice device_ = {.present = true, .runtime = &runtime_};
  ClockWatch clock_{nullptr};
};

// A plan names it, so that it has no rivals.
TEST_F(ImplementationsTest, ANamedCandidateIsTriedBeforeItMayRun) {
  step_.implementation = Generated().front()->name();
  const auto found = Find();
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ((*found)->name(), step_.implementation);
  runtime_.computes = false;
  const absl::Status status = Find().status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("wrong results"));
}

// Where nothing is timed, what comes first and is right is taken, or what the plan names.
TEST_F(ImplementationsTest, TheFirstIsTriedWhereNoneIsTimed) {
  step_.problem.problem =
      RowsProblem{.kind = RowsProblem::Kind::kSoftmax, .rows = 3, .columns = 1000};
  step_.shape = ShapeOf(step_.problem.problem).value();
  const std::string first = Generated().front()->name();
  const std::string last = Generated().back()->name();
  ASSERT_NE(first, last);
  for (const bool anticipates : {false, true}) {
    for (const std::string& named : {std::string(), first, last}) {
      step_.implementation = named;
      runtime_.computes = true;
      const auto found = Find(ChoiceBy::kFirst, anticipates);
      ASSERT_TRUE(found.ok()) << found.status();
      EXPECT_EQ((*found)->name(), named.empty() ? first : named);
      runtime_.computes = false;
      const absl::Status status = Find(ChoiceBy::kFirst, anticipates).status();
      EXPECT_EQ(status.code(), named.empty() ? absl::StatusCode::kUnimplemented
                                             : absl::StatusCode::kInvalidArgument);
      EXPECT_THAT(status.message(), HasSubstr("wrong results"));
    }
  }
}

TEST_F(ImplementationsTest, ALoneCandidateIsTriedToo) {
  step_.problem.problem = MovementProblem{
      .kind = MovementProblem::Kind::kPad, .inputs = {{5, 7}}, .starts = {1, 0}, .sizes = {0, 2}};
  step_.shape = ShapeOf(step_.problem.problem).value();
  ASSERT_THAT(Generated(), SizeIs(1));
  EXPECT_TRUE(Find().ok()) << Find().status();
  runtime_.computes = false;
  EXPECT_TRUE(absl::IsUnimplemented(Find().status())) << Find().status();
}

// What is no float has to be the same, in each type that is read or written.
TEST_F(ImplementationsTest, CandidatesForIntegersAreTriedToo) {
  using enum ElementType;
  const auto of = [](std::string text, std::vector<ElementType> types, ElementType result) {
    const std::vector<std::vector<int64_t>> inputs(types.size(), {6, 35});
    return Problem(ElementwiseProblem{.expression = std::move(text),
                                      .shape = {6, 35},
                                      .inputs = inputs,
                                      .input_types = std::move(types),
                                      .result_type = result});
  };
  const auto moved = [](MovementProblem::Kind kind, ElementType type) {
    MovementProblem problem = {.kind = kind, .inputs = {{6, 35}}, .type = type};
    if (kind == MovementProblem::Kind::kTranspose) problem.permutation = {1, 0};
    if (kind == MovementProblem::Kind::kGather) problem.inputs.push_back({4});
    return Problem(problem);
  };
  const Problem problems[] = {
      of("add(mul(x0,x1),x0)", {kInt64, kInt64}, kInt64),
      of("max(x0,sub(x1,x0))", {kInt32, kInt32}, kInt32),
      of("less(x0,x1)", {kFloat, kFloat}, kBool),
      of("equal(x0,x1)", {kInt32, kInt32}, kBool),
      of("where(x0,x1,x2)", {kBool, kFloat, kFloat}, kFloat),
      of("int64(x0)", {kFloat}, kInt64),
      of("and(x0,not(x1))", {kBool, kBool}, kBool),
      moved(MovementProblem::Kind::kTranspose, kInt64),
      moved(MovementProblem::Kind::kGather, kBool),
      moved(MovementProblem::Kind::kGather, kFloat),
  };
  for (const Problem& problem : problems) {
    step_.problem.problem = problem;
    const Result<ProblemShape> shape = ShapeOf(problem);
    if (!shape.ok()) {
      ADD_FAILURE() << ProblemName(problem) << ": " << shape.error().message;
      continue;
    }
    step_.shape = shape.value();
    runtime_.computes = true;
    EXPECT_TRUE(Find().ok()) << ProblemName(problem) << ": " << Find().status();
    runtime_.computes = false;
    EXPECT_TRUE(absl::IsUnimplemented(Find().status())) << ProblemName(problem);
  }
}

// A driver that takes no PTX, as a real one, and fails while it is told to.
class UnhealthyRuntime : public DriverRuntime {
 public:
  using DriverRuntime::DriverRuntime;
  bool TakesPtx() override { return false; }
  Status CheckHealth() override {
    return is_healthy ? DriverRuntime::CheckHealth() : Error{ErrorCode::kDevice, "it is ill"};
  }
  bool is_healthy = false;
};

TEST_F(TimeCandidatesTest, WhatAnIllDeviceCouldNotPrepareIsAskedForAgain) {
  UnhealthyRuntime runtime(0, &driver_.library());
  const CudaDevice device = {.present = true, .runtime = &runtime};
  ClockWatch clock(nullptr);
  Implementations implementations(device, /*has_libraries=*/false, ChoiceBy::kTrial, stream_.get(),
                                  staging_.get(), &clock);
  implementations.Anticipate({step_, step_}, {});
  runtime.is_healthy = true;
  // The simulated driver refuses cubins, which is known only to who has tried.
  EXPECT_THAT(implementations.Find(step_).status().message(), HasSubstr("cuLibraryLoadData"));
}

}  // namespace
}  // namespace plait::cuda
