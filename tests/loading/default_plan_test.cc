#include "loading/default_plan.h"

#include <gtest/gtest.h>

#include "tests/loading/planned_model.h"

namespace plait {
namespace {

absl::StatusOr<LoadedPlan> Default(const std::vector<EmbeddedPlan>& plans, int64_t rows,
                                   Executor& executor) {
  const Model model = ModelWith(plans);
  const absl::StatusOr<Bound> bound = Bind(model, {{"x", {rows, 8}}});
  EXPECT_TRUE(bound.ok()) << bound.status();
  return LoadDefaultPlan(model, *bound, ReadFilePlans(model), executor);
}

// "y = Relu(Relu(x * w))" stands for a graph that a search has made: it computes the same, and
// shows which graph was planned.
EmbeddedPlan Rewritten(const DeviceDescription& device) {
  EmbeddedPlan plan = PlanOfRows(2, device);
  plan.graph = "graph {\n  input %x: float32[2,8]\n  %y: float32[2,8] = Relu(%x)\n  output %y\n}\n";
  return plan;
}

// A device on which kernels of several nodes are offered, and refused.
class RefusesFusedKernels : public Executor {
 public:
  explicit RefusesFusedKernels(absl::Status refusal) : refusal_(std::move(refusal)) {}
  const DeviceDescription& device() const override { return cpu_->device(); }

 private:
  absl::StatusOr<std::unique_ptr<Executable>> LoadChecked(const Graph& graph, const Plan& plan,
                                                          const WeightSource& weights) override {
    for (const Step& step : plan.steps) {
      if (step.kernel.nodes.size() > 1) return refusal_;
    }
    return cpu_->Load(graph, plan, weights);
  }

  const std::unique_ptr<Executor> cpu_ = OpenCpu(1);
  const absl::Status refusal_;
};

TEST(DefaultPlanTest, IsMadeOfTheModelWithoutMeasuring) {
  const auto executor = OpenCpu(1);
  for (int i = 0; i < 2; ++i) {
    const absl::StatusOr<LoadedPlan> loaded = Default({}, 3, *executor);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    EXPECT_TRUE(loaded->plan.predicted);
    EXPECT_EQ(loaded->plan.steps.size(), 1u) << "the Relu is part of the product's kernel";
    EXPECT_EQ(RunOnOnes(*loaded).size(), 24u);
    EXPECT_EQ(RunOnOnes(*loaded)[0], 224.0f);
  }
}

TEST(DefaultPlanTest, PlansTheGraphOfAPlanForTheseShapes) {
  const auto executor = OpenCpu(1);
  const absl::StatusOr<LoadedPlan> of_file = Default({Rewritten(executor->device())}, 2, *executor);
  ASSERT_TRUE(of_file.ok()) << of_file.status();
  EXPECT_EQ(of_file->graph.node_count(), 1);
  const absl::StatusOr<LoadedPlan> own = Default({Rewritten(executor->device())}, 3, *executor);
  ASSERT_TRUE(own.ok()) << own.status();
  EXPECT_EQ(own->graph.node_count(), 2);
}

// Types of a stranger's graph are proven before anything is planned by them.
TEST(DefaultPlanTest, DoesNotPlanAGraphThatDoesNotFitItself) {
  const auto executor = OpenCpu(1);
  EmbeddedPlan hostile = Rewritten(executor->device());
  hostile.graph =
      "graph {\n  input %x: float32[2,8]\n  %y: float32[2,8] = MatMul(%x, %x)\n  output %y\n}\n";
  const absl::StatusOr<LoadedPlan> loaded = Default({hostile}, 2, *executor);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->graph.node_count(), 2);
}

TEST(DefaultPlanTest, HasAKernelForEachNodeWhereALargerOneRefuses) {
  for (const absl::Status& refusal :
       {absl::InvalidArgumentError("refused"), absl::UnimplementedError("refused")}) {
    RefusesFusedKernels executor(refusal);
    const absl::StatusOr<LoadedPlan> loaded = Default({}, 3, executor);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    EXPECT_EQ(loaded->plan.steps.size(), 2u);
    EXPECT_EQ(RunOnOnes(*loaded)[0], 224.0f);
  }
  RefusesFusedKernels executor(absl::ResourceExhaustedError("no memory"));
  EXPECT_TRUE(absl::IsResourceExhausted(Default({}, 3, executor).status()));
}

}  // namespace
}  // namespace plait
