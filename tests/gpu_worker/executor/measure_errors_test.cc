#include "gpu_worker/executor/measure_errors.h"

#include <cmath>
#include <functional>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/status_macros.h"
#include "optimizer/ops/evaluation/evaluate.h"
#include "tests/gpu_worker/executor/executor_fixture.h"

namespace plait {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

using Tensors = std::vector<Tensor>;

// Changes a result, of a layer that ran alone on these inputs.
using Change = std::function<void(const Tensors& inputs, std::vector<double>& result)>;

class ChangedExecutable : public Executable {
 public:
  ChangedExecutable(std::unique_ptr<Executable> executable, const Change& change)
      : executable_(std::move(executable)), change_(change) {}
  absl::StatusOr<Tensors> Run(absl::Span<const Tensor> inputs) override {
    PLAIT_ASSIGN_OR_RETURN(Tensors results, executable_->Run(inputs));
    std::vector<double> values = results[0].AsDoubles();
    change_(Tensors(inputs.begin(), inputs.end()), values);
    results[0] = Tensor::FromDoubles(results[0].type(), values);
    return results;
  }
  absl::StatusOr<std::vector<double>> Time(int repeats) override {
    return executable_->Time(repeats);
  }
  absl::Status SetInputs(absl::Span<const Tensor> inputs) override {
    return executable_->SetInputs(inputs);
  }
  void EvictCaches() override { executable_->EvictCaches(); }
  int fallback_nodes() const override { return executable_->fallback_nodes(); }

 private:
  std::unique_ptr<Executable> executable_;
  const Change& change_;
};

// Runs whole plans as they are and changes what kernels that are loaded alone compute; notes both.
class ChangingExecutor : public Executor {
 public:
  ChangingExecutor(Executor& executor, Change change)
      : executor_(executor), change_(std::move(change)) {}
  const DeviceDescription& device() const override { return executor_.device(); }

  int plans = 0;
  std::vector<Kernel> kernels;

 private:
  absl::StatusOr<std::unique_ptr<Executable>> LoadChecked(const Graph& graph, const Plan& plan,
                                                          const WeightSource& weights) override {
    if (!plan.graph_fingerprint.empty()) {
      ++plans;
      return executor_.Load(graph, plan, weights);
    }
    kernels.push_back(plan.steps[0].kernel);
    PLAIT_ASSIGN_OR_RETURN(std::unique_ptr<Executable> executable,
                           executor_.LoadKernel(graph, plan.steps[0].kernel, weights));
    return std::make_unique<ChangedExecutable>(std::move(executable), change_);
  }

  Executor& executor_;
  const Change change_;
};

void Nothing(const Tensors&, std::vector<double>&) {}

constexpr char kNetwork[] = R"(graph {
  input %x: float32[1,3,18,16]
  const %v: float32[16,3,3,3] = synthetic 1
  const %w: float32[8,16,3,3] = synthetic 2
  const %b: float32[8] = synthetic 3
  const %s: int64[2] = [8,72]
  const %m: float32[72,40] = synthetic 4
  const %g: float32[30,40] = synthetic 5
  %c = Conv(%x, %v) {pads=[1,1,1,1]}
  %r = Relu(%c)
  %d = Conv(%r, %w, %b) {pads=[1,1,1,1], strides=[2,2]}
  %f = Reshape(%d, %s)
  %p = MatMul(%f, %m)
  %y = Gemm(%p, %g) {transB=1, alpha=0.5}
  output %y
})";
const int kLayers[] = {0, 2, 4, 5};

class MeasureErrorsTest : public ExecutorFixture {
 protected:
  absl::StatusOr<std::vector<LayerError>> Measure(Executor& executor, const Graph& graph,
                                                  const Plan& plan, absl::Span<const int> steps,
                                                  const ErrorOptions& options = {}) const {
    return MeasureErrors(executor, {&graph, &plan}, steps, NoWeights(), options);
  }

  // The error of a product whose result is changed so.
  LayerError ErrorOfChanged(const Change& change, const ErrorOptions& options = {}) {
    ChangingExecutor executor(*executor_, change);
    const auto errors = Measure(executor, product_, PlanOf(product_), {0}, options);
    EXPECT_TRUE(errors.ok()) << errors.status();
    return errors.ok() ? errors->front() : LayerError();
  }

  const Graph product_ = ParseTyped(R"(graph {
  input %x: float32[100,60]
  const %w: float32[60,80] = synthetic 1
  %y = MatMul(%x, %w)
  output %y
})");
};

TEST_F(MeasureErrorsTest, KernelsInFp32AreAsGoodAsASerialSum) {
  const Graph graph = ParseTyped(kNetwork);
  const auto errors = Measure(*executor_, graph, PlanOf(graph), kLayers);
  ASSERT_TRUE(errors.ok()) << errors.status();
  ASSERT_THAT(*errors, SizeIs(4));
  for (const LayerError& error : *errors) {
    EXPECT_TRUE(IsAdmitted(error)) << error.error << " " << error.serial_error << " "
                                   << error.hard_error << " " << error.serial_hard_error;
    for (const double one :
         {error.error, error.serial_error, error.hard_error, error.serial_hard_error}) {
      EXPECT_GT(one, 1e-9);
      EXPECT_LT(one, 1e-5);
    }
  }
}

TEST_F(MeasureErrorsTest, TheReferenceRoundsOnlyTheResult) {
  Open("reference", 0);
  const Graph graph = ParseTyped(kNetwork);
  const auto errors = Measure(*executor_, graph, PlanOf(graph), kLayers);
  ASSERT_TRUE(errors.ok()) << errors.status();
  for (const LayerError& error : *errors) {
    EXPECT_LE(error.error, std::exp2(-24));
    EXPECT_LT(error.error, error.serial_error);
    EXPECT_LE(error.hard_error, std::exp2(-24));
    EXPECT_LT(error.hard_error, error.serial_hard_error);
  }
}

TEST_F(MeasureErrorsTest, AKernelThatIsALittleWrongIsNotAdmitted) {
  const LayerError error = ErrorOfChanged([](const Tensors&, std::vector<double>& result) {
    for (double& value : result) value *= 1 + 1e-4;
  });
  EXPECT_NEAR(error.error, 1e-4, 2e-5);
  EXPECT_GT(error.hard_error, 1e-6);
  EXPECT_LT(error.serial_error, 1e-5);
  EXPECT_FALSE(IsAdmitted(error));
}

TEST_F(MeasureErrorsTest, SeesAnErrorInACorner) {
  const LayerError error =
      ErrorOfChanged([](const Tensors&, std::vector<double>& result) { result.back() += 1; });
  EXPECT_GT(error.error, 1e-2);
  EXPECT_GT(error.hard_error, 1e-5);
}

// Beside the largest value of the whole result it would be small.
TEST_F(MeasureErrorsTest, AnErrorCountsBesideTheValuesOfItsRow) {
  ErrorOptions options;
  std::vector<float> input(100 * 60, 1.0f);
  for (size_t i = 60; i < 120; ++i) input[i] = 1e6;
  options.given_inputs = {{Tensor::Of<float>({100, 60}, input)}};
  const LayerError error = ErrorOfChanged(
      [](const Tensors& inputs, std::vector<double>& result) {
        if (inputs[0].at<float>(60) == 1e6) result[0] += 0.1;
      },
      options);
  EXPECT_GT(error.error, 1e-3);
}

TEST_F(MeasureErrorsTest, NoNumbersAreTheLargestError) {
  for (const double none : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    const LayerError error =
        ErrorOfChanged([&](const Tensors&, std::vector<double>& result) { result[0] = none; });
    EXPECT_EQ(error.error, kLayerErrorMax);
    EXPECT_EQ(error.hard_error, kLayerErrorMax);
    EXPECT_FALSE(IsAdmitted(error));
  }
}

TEST_F(MeasureErrorsTest, ZerosHaveAllOfTheErrorThereIs) {
  const LayerError error = ErrorOfChanged(
      [](const Tensors&, std::vector<double>& result) { result.assign(result.size(), 0); });
  EXPECT_NEAR(error.error, 1, 1e-6);
}

// Relative to results that cancel to almost nothing, one in four of these was not admitted.
TEST_F(MeasureErrorsTest, KernelsInFp32AreGoodWhereChannelsAndRowsHaveOneElement) {
  for (const char* text :
       {"graph {\n input %x: float32[1,64,1,1]\n const %w: float32[256,64,1,1] = synthetic 1\n"
        " %y = Conv(%x, %w)\n output %y\n}",
        "graph {\n input %x: float32[1000,64]\n const %w: float32[64,1] = synthetic 1\n"
        " %y = MatMul(%x, %w)\n output %y\n}"}) {
    const Graph graph = ParseTyped(text);
    for (uint64_t seed = 1; seed <= 20; ++seed) {
      const auto errors = Measure(*executor_, graph, PlanOf(graph), {0}, {.seed = seed});
      ASSERT_TRUE(errors.ok()) << errors.status();
      EXPECT_TRUE(IsAdmitted(errors->front())) << seed << text << errors->front().error;
    }
  }
}

TEST_F(MeasureErrorsTest, ALayerOfZerosHasNoError) {
  const Graph graph = ParseTyped(R"(graph {
  input %x: float32[1,1,8,8]
  const %w: float32[2,1,1,2] = [0.0, 0.0, 0.0, 0.0]
  %y = Conv(%x, %w)
  output %y
})");
  const auto errors = Measure(*executor_, graph, PlanOf(graph), {0});
  ASSERT_TRUE(errors.ok()) << errors.status();
  EXPECT_EQ(errors->front(), LayerError());
}

TEST_F(MeasureErrorsTest, ALayerThatReadsOrGivesNothingHasNoError) {
  for (const char* text :
       {"graph {\n input %x: float32[3,0]\n const %w: float32[0,5] = synthetic 1\n"
        " %y = MatMul(%x, %w)\n output %y\n}",
        "graph {\n input %x: float32[0,3]\n const %w: float32[3,5] = synthetic 1\n"
        " %y = MatMul(%x, %w)\n output %y\n}",
        "graph {\n input %x: float32[1,2,0,4]\n const %w: float32[3,2,2,2] = synthetic 1\n"
        " %y = Conv(%x, %w) {pads=[1,1,1,1]}\n output %y\n}"}) {
    const Graph graph = ParseTyped(text);
    const auto errors = Measure(*executor_, graph, PlanOf(graph), {0});
    ASSERT_TRUE(errors.ok()) << errors.status() << text;
    EXPECT_EQ(errors->front(), LayerError()) << text;
  }
}

TEST_F(MeasureErrorsTest, GivenInputsShowWhatTheRandomOneDoesNot) {
  const Change change = [](const Tensors& inputs, std::vector<double>& result) {
    if (inputs[0].at<float>(0) == 7) result[0] *= 2;
  };
  EXPECT_LT(ErrorOfChanged(change).error, 1e-5);
  ErrorOptions options;
  std::vector<float> input(100 * 60, 7.0f);
  options.given_inputs = {{Tensor::Of<float>({100, 60}, input)}};
  EXPECT_GT(ErrorOfChanged(change, options).error, 1e-2);
}

// The plan's kernel has an epilogue, which would hide errors of the sums.
TEST_F(MeasureErrorsTest, OnlyTheFirstNodeOfAKernelCounts) {
  const Graph graph = ParseTyped(R"(graph {
  input %x: float32[100,60]
  input %r: float32[100,80]
  const %w: float32[60,80] = synthetic 1
  %p = MatMul(%x, %w)
  %a = Add(%p, %r)
  %y = Relu(%a)
  output %y
})");
  Plan plan = PlanOf(graph);
  for (const Kernel& kernel : catalog_->KernelsAt(graph, 0, true)) {
    if (kernel.nodes.size() == 3) plan.steps = {{.kernel = kernel}};
  }
  ASSERT_THAT(plan.steps, SizeIs(1));
  plan.values.clear();
  for (const TensorId tensor : InputsOf(graph, {0, 1, 2}))
    plan.values.push_back({.tensor = tensor});
  plan.values.push_back({.tensor = graph.outputs()[0]});
  plan.steps[0].inputs = {0, 1};
  plan.steps[0].outputs = {2};
  plan.arena_bytes = 0;
  ChangingExecutor executor(*executor_, Nothing);
  const auto errors = Measure(executor, graph, plan, {0});
  ASSERT_TRUE(errors.ok()) << errors.status();
  EXPECT_TRUE(IsAdmitted(errors->front()));
  EXPECT_GT(errors->front().error, 0);
  ASSERT_THAT(executor.kernels, SizeIs(2));  // its own weights, and those that cancel
  for (const Kernel& kernel : executor.kernels) {
    EXPECT_EQ(kernel.family, plan.steps[0].kernel.family);
    EXPECT_EQ(kernel.variant, plan.steps[0].kernel.variant);
    EXPECT_EQ(kernel.width, plan.steps[0].kernel.width);
    EXPECT_THAT(kernel.nodes, ElementsAre(0));
  }
}

class ChannelsLastTest : public MeasureErrorsTest {
 protected:
  void SetUp() override {
    MeasureErrorsTest::SetUp();
    const TensorType& in = graph_.type(graph_.inputs()[0]);
    const TensorType& out = graph_.type(graph_.outputs()[0]);
    plan_ = PlanOf(graph_);
    plan_.values = {{.tensor = graph_.inputs()[0]},
                    {.tensor = graph_.inputs()[0], .format = Format::kChannelsLast},
                    {.tensor = graph_.outputs()[0], .format = Format::kChannelsLast},
                    {.tensor = graph_.outputs()[0]}};
    plan_.values[1].buffer = {0, 4096};
    plan_.values[2].buffer = {4096, 4096};
    plan_.arena_bytes = 8192;
    plan_.steps = {{.kernel = catalog_->Reorder(in, Format::kPlain, Format::kChannelsLast),
                    .inputs = {0},
                    .outputs = {1}},
                   {.inputs = {1}, .outputs = {2}},
                   {.kernel = catalog_->Reorder(out, Format::kChannelsLast, Format::kPlain),
                    .inputs = {2},
                    .outputs = {3}}};
    for (const Kernel& kernel : catalog_->KernelsAt(graph_, 0, false)) {
      if (kernel.input_formats[0] == Format::kChannelsLast) plan_.steps[1].kernel = kernel;
    }
  }

  const Graph graph_ = ParseTyped(R"(graph {
  input %x: float32[1,8,6,5]
  const %w: float32[16,8,3,3] = synthetic 1
  %y = Conv(%x, %w) {pads=[1,1,1,1]}
  output %y
})");
  Plan plan_;
};

TEST_F(ChannelsLastTest, AKernelIsMeasuredInTheFormatsOfItsStep) {
  ChangingExecutor executor(*executor_, Nothing);
  const auto errors = Measure(executor, graph_, plan_, {1});
  ASSERT_TRUE(errors.ok()) << errors.status();
  EXPECT_TRUE(IsAdmitted(errors->front()));
  ASSERT_THAT(executor.kernels, SizeIs(2));
  EXPECT_THAT(executor.kernels[0].input_formats, ElementsAre(Format::kChannelsLast));
  EXPECT_THAT(executor.kernels[0].output_formats, ElementsAre(Format::kChannelsLast));
}

TEST_F(ChannelsLastTest, AStepIsSeenToReadRowMajorValues) {
  const auto executable = executor_->Load(graph_, plan_, NoWeights());
  ASSERT_TRUE(executable.ok()) << executable.status();
  std::vector<float> values(240);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  const Tensor input = Tensor::Of<float>({1, 8, 6, 5}, values);
  std::vector<Tensors> seen;
  const auto observe = [&](int, absl::Span<const Tensor> read) {
    seen.emplace_back(read.begin(), read.end());
    return absl::OkStatus();
  };
  ASSERT_TRUE((*executable)->RunObserved({input}, {0, 1}, observe).ok());
  EXPECT_EQ(seen, std::vector<Tensors>({{input}, {input}}));
}

// As many of them as there is room for are measured after one run of the plan.
TEST_F(MeasureErrorsTest, WhatStepsReadIsKeptInPartsWhereMemoryIsSmall) {
  const Graph graph = ParseTyped(kNetwork);
  ChangingExecutor large(*executor_, Nothing);
  const auto expected = Measure(large, graph, PlanOf(graph), kLayers);
  ASSERT_TRUE(expected.ok()) << expected.status();
  EXPECT_EQ(large.plans, 1);
  absl::StatusOr<std::unique_ptr<Executor>> executor =
      OpenExecutor("cpu", {.memory_bytes_max = 100'000});
  ASSERT_TRUE(executor.ok()) << executor.status();
  ChangingExecutor small(**executor, Nothing);
  Plan plan = PlanOf(graph);
  plan.device_fingerprint = small.device().fingerprint;
  const auto errors = Measure(small, graph, plan, kLayers);
  ASSERT_TRUE(errors.ok()) << errors.status();
  EXPECT_EQ(*errors, *expected);
  EXPECT_EQ(small.plans, 2);
}

TEST_F(MeasureErrorsTest, RefusesStepsThatItCannotMeasure) {
  const Graph graph = ParseTyped(kNetwork);
  const Plan plan = PlanOf(graph);
  const auto message = [&](std::vector<int> steps) {
    const absl::Status status = Measure(*executor_, graph, plan, steps).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    return std::string(status.message());
  };
  EXPECT_THAT(message({0, 1}), HasSubstr("step 1: Relu is no convolution"));
  EXPECT_THAT(message({2, 0}), HasSubstr("step 0: steps must be ascending"));
  EXPECT_THAT(message({2, 2}), HasSubstr("step 2: steps must be ascending"));
  EXPECT_THAT(message({-1}), HasSubstr("step -1"));
  EXPECT_THAT(message({6}), HasSubstr("step 6"));
  const Graph variable = ParseTyped(
      "graph {\n input %a: float32[4,4]\n input %b: float32[4,4]\n %y = MatMul(%a, %b)\n"
      " output %y\n}");
  const absl::Status status = Measure(*executor_, variable, PlanOf(variable), {0}).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("step 0: MatMul has no constant weights"));
}

TEST_F(MeasureErrorsTest, EndsWhenItIsAskedTo) {
  std::stop_source source;
  source.request_stop();
  EXPECT_TRUE(absl::IsCancelled(
      Measure(*executor_, product_, PlanOf(product_), {0}, {.stop = source.get_token()}).status()));
}

}  // namespace
}  // namespace plait
