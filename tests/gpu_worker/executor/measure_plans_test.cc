#include "gpu_worker/executor/measure_plans.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu_worker/backends/catalogs.h"
#include "gpu_worker/backends/open_executor.h"
#include "gpu_worker/executor/compare_outputs.h"
#include "gpu_worker/executor/make_inputs.h"
#include "gpu_worker/executor/profile_kernel.h"
#include "optimizer/kernels/kernel_key.h"
#include "optimizer/ops/evaluation/evaluate.h"
#include "optimizer/ops/shared/op_spec.h"
#include "tests/gpu_worker/executor/simple_plan.h"

namespace plait {
namespace {

using testing::HasSubstr;

Graph Parse(const std::string& text) {
  absl::StatusOr<Graph> graph = ParseTypedGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return graph.ok() ? *std::move(graph) : Graph();
}

Tensor Floats(std::vector<float> values) {
  const Shape shape = {static_cast<int64_t>(values.size())};
  return Tensor::Of<float>(shape, values);
}

OutputComparison Compare(const Tensor& original, const Tensor& candidate) {
  OutputComparer comparer(1e-4);
  comparer.Add({original}, {candidate});
  return comparer.Result();
}

TEST(OutputComparerTest, MeasuresErrorsAgainstTheLargestValue) {
  const OutputComparison comparison =
      Compare(Floats({100.0f, 1.0f, 0.0f}), Floats({100.0f, 1.005f, 0.0f}));
  EXPECT_EQ(comparison.equivalence.verdict, Verdict::kEquivalent);
  EXPECT_NEAR(comparison.equivalence.max_abs_error, 0.005, 1e-6);
  EXPECT_NEAR(comparison.equivalence.max_rel_error, 0.00005, 1e-8);
  EXPECT_EQ(comparison.equivalence.inputs_tried, 1);
}

TEST(OutputComparerTest, SeesAShiftByOneElement) {
  const OutputComparison comparison =
      Compare(Floats({0.1f, 0.2f, 0.3f, 0.4f}), Floats({0.2f, 0.3f, 0.4f, 0.1f}));
  EXPECT_EQ(comparison.equivalence.verdict, Verdict::kDifferent);
  EXPECT_THAT(comparison.reason, HasSubstr("output 0 differs"));
}

TEST(OutputComparerTest, DeadOutputsAreInconclusive) {
  OutputComparer comparer(1e-4);
  comparer.Add({Floats({1, 2}), Floats({0, 0})}, {Floats({1, 2}), Floats({0, 0})});
  comparer.Add({Floats({3, 4}), Floats({0, 0})}, {Floats({3, 4}), Floats({0, 0})});
  EXPECT_EQ(comparer.Result().equivalence.verdict, Verdict::kInconclusive);
  EXPECT_THAT(comparer.Result().reason, HasSubstr("output 1"));
}

TEST(OutputComparerTest, AScalarThatChangesWithTheInputIsAlive) {
  OutputComparer comparer(1e-4);
  comparer.Add({Floats({1})}, {Floats({1})});
  EXPECT_EQ(comparer.Result().equivalence.verdict, Verdict::kInconclusive);
  comparer.Add({Floats({2})}, {Floats({2})});
  EXPECT_EQ(comparer.Result().equivalence.verdict, Verdict::kEquivalent);
}

TEST(OutputComparerTest, SpecialValuesMustAgree) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(Compare(Floats({nan, 1}), Floats({nan, 1})).equivalence.verdict, Verdict::kEquivalent);
  EXPECT_EQ(Compare(Floats({nan, 1}), Floats({0, 1})).equivalence.verdict, Verdict::kDifferent);
  EXPECT_EQ(Compare(Floats({0, 1}), Floats({nan, 1})).equivalence.verdict, Verdict::kDifferent);
  EXPECT_EQ(Compare(Floats({infinity, 1}), Floats({-infinity, 1})).equivalence.verdict,
            Verdict::kDifferent);
  EXPECT_EQ(Compare(Floats({infinity, 1}), Floats({infinity, 1})).equivalence.verdict,
            Verdict::kEquivalent);
}

TEST(OutputComparerTest, IntegersMustBeEqual) {
  EXPECT_EQ(Compare(Tensor::Int64s({1000000, 7}), Tensor::Int64s({1000001, 7})).equivalence.verdict,
            Verdict::kDifferent);
}

TEST(OutputComparerTest, OtherShapesAndCountsAreDifferent) {
  EXPECT_EQ(Compare(Floats({1, 2}), Floats({1, 2, 3})).equivalence.verdict, Verdict::kDifferent);
  OutputComparer comparer(1e-4);
  comparer.Add({Floats({1, 2})}, {});
  EXPECT_EQ(comparer.Result().equivalence.verdict, Verdict::kDifferent);
}

TEST(MakeInputsTest, ValuesAreSeededAndFitTheirUse) {
  const Graph graph = Parse(R"(graph {
  input %ids: int64[1,40]
  input %segments: int64[1,40]
  input %attention_mask: int64[1,40]
  input %x: float32[5]
  const %words: float32[100,4] = synthetic 1
  const %kinds: float32[2,4] = synthetic 2
  const %shape: int64[1] = [-1]
  %flat = Reshape(%segments, %shape)
  %w = Gather(%words, %ids)
  %k = Gather(%kinds, %flat)
  output %w, %k, %attention_mask, %x
})");
  const absl::StatusOr<std::vector<Tensor>> inputs = MakeInputs(graph, 5);
  ASSERT_TRUE(inputs.ok()) << inputs.status();
  EXPECT_EQ(*inputs, *MakeInputs(graph, 5));
  EXPECT_NE(*inputs, *MakeInputs(graph, 6));
  EXPECT_THAT((*inputs)[0].AsInt64s(),
              testing::Each(testing::AllOf(testing::Ge(0), testing::Lt(100))));
  EXPECT_THAT((*inputs)[0].AsInt64s(), testing::Contains(testing::Gt(1)));
  EXPECT_THAT((*inputs)[1].AsInt64s(),
              testing::Each(testing::AllOf(testing::Ge(0), testing::Lt(2))));
  EXPECT_THAT((*inputs)[2].AsInt64s(), testing::Each(1));
  EXPECT_THAT((*inputs)[3].AsDoubles(), testing::Each(testing::Ne(0)));
}

class MeasuringTest : public testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<std::unique_ptr<Executor>> executor = OpenExecutor("cpu", 0);
    ASSERT_TRUE(executor.ok()) << executor.status();
    executor_ = *std::move(executor);
    absl::StatusOr<std::unique_ptr<KernelCatalog>> catalog = CatalogFor(executor_->device());
    ASSERT_TRUE(catalog.ok());
    catalog_ = *std::move(catalog);
  }

  Plan PlanOf(const Graph& graph) const {
    return SimplePlan(graph, executor_->device(), *catalog_, {});
  }

  std::unique_ptr<Executor> executor_;
  std::unique_ptr<KernelCatalog> catalog_;
};

TEST_F(MeasuringTest, CandidatesAreComparedAndTimedBesideTheOriginal) {
  const Graph original = Parse(R"(graph {
  input %x: float32[4,50]
  %a = Relu(%x)
  %b = Relu(%a)
  output %b
})");
  const Graph equal = Parse(R"(graph {
  input %x: float32[4,50]
  %b = Relu(%x)
  output %b
})");
  const Graph wrong = Parse(R"(graph {
  input %x: float32[4,50]
  %b = Abs(%x)
  output %b
})");
  const Plan plans[] = {PlanOf(original), PlanOf(equal), PlanOf(wrong), Plan()};
  const CandidatePlan candidates[] = {
      {&original, &plans[0]}, {&equal, &plans[1]}, {&wrong, &plans[2]}, {&equal, &plans[3]}};
  const absl::StatusOr<std::vector<PlanMeasurement>> measurements =
      MeasurePlans(executor_.get(), candidates, NoWeights(), {.rounds = 4});
  ASSERT_TRUE(measurements.ok()) << measurements.status();
  ASSERT_EQ(measurements->size(), 4u);
  EXPECT_EQ((*measurements)[0].comparison.equivalence.verdict, Verdict::kEquivalent);
  EXPECT_EQ((*measurements)[1].comparison.equivalence.verdict, Verdict::kEquivalent);
  EXPECT_EQ((*measurements)[2].comparison.equivalence.verdict, Verdict::kDifferent);
  EXPECT_EQ((*measurements)[1].comparison.equivalence.inputs_tried, 3);
  for (int i = 0; i < 3; ++i) EXPECT_EQ((*measurements)[i].samples_us.size(), 4u);
  EXPECT_EQ((*measurements)[3].status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE((*measurements)[3].samples_us.empty());
}

TEST_F(MeasuringTest, ProfilesEveryOfferedKernelByItsKey) {
  const Graph graph = Parse(R"(graph {
  input %x: float32[1,16,20,20]
  const %w: float32[16,16,3,3] = synthetic 1
  %y = Conv(%x, %w) {kernel_shape=[3,3], pads=[1,1,1,1]}
  %r = Relu(%y)
  output %r
})");
  const ProfileOrigin origin{executor_->device().fingerprint, "1"};
  const ProfileOptions timing{.samples_max = 5};
  for (NodeId node = 0; node < graph.node_count(); ++node) {
    for (const Kernel& kernel : catalog_->KernelsAt(graph, node, true)) {
      const KernelProfile profile =
          ProfileKernel(executor_.get(), KernelProfileKey(graph, kernel, origin), timing);
      EXPECT_EQ(profile.error, "");
      EXPECT_GE(profile.profile.samples, 1);
      EXPECT_GT(profile.profile.latency_us_median, 0);
      EXPECT_GT(profile.profile.bytes, 0);
      EXPECT_GT(profile.profile.flops, 0);
    }
  }
}

TEST_F(MeasuringTest, ProfilesReorders) {
  const TensorType type{DataType::kFloat32, {1, 8, 6, 6}};
  const Kernel reorder = catalog_->Reorder(type, Format::kPlain, Format::kChannelsLast);
  const KernelProfile profile =
      ProfileKernel(executor_.get(),
                    ReorderProfileKey(type, reorder, {executor_->device().fingerprint, "1"}), {});
  EXPECT_EQ(profile.error, "");
  EXPECT_GE(profile.profile.samples, 1);
}

TEST_F(MeasuringTest, AKernelThatCannotRunHasNoSamplesButAReason) {
  const Graph graph = Parse(R"(graph {
  input %x: float32[1,16,20,20]
  %r = Relu(%x)
  output %r
})");
  Kernel kernel = catalog_->KernelsAt(graph, 0, false)[0];
  kernel.family = "conv";
  ProfileKey key = KernelProfileKey(graph, kernel, {executor_->device().fingerprint, "1"});
  EXPECT_EQ(ProfileKernel(executor_.get(), key, {}).profile.samples, 0);
  EXPECT_THAT(ProfileKernel(executor_.get(), key, {}).error, HasSubstr("cannot run Relu"));
  key.graph_text = "graph {";
  EXPECT_EQ(ProfileKernel(executor_.get(), key, {}).profile.samples, 0);
  key.device_fingerprint = "another";
  EXPECT_THAT(ProfileKernel(executor_.get(), key, {}).error, HasSubstr("another"));
}

}  // namespace
}  // namespace plait
