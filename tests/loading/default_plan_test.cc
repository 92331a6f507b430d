#include "loading/default_plan.h"

#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "gpu_worker/backends/catalogs.h"
#include "optimizer/search/predicted_plan.h"
#include "tests/loading/planned_model.h"
#include "tests/optimizer/onnx/model_text.h"

namespace plait {
namespace {

absl::StatusOr<LoadedPlan> Default(const std::vector<EmbeddedPlan>& plans, int64_t rows,
                                   Executor& executor, std::string* explanation = nullptr) {
  const Model model = ModelWith(plans);
  const absl::StatusOr<Bound> bound = Bind(model, {{"x", {rows, 8}}});
  EXPECT_TRUE(bound.ok()) << bound.status();
  PLAIT_ASSIGN_OR_RETURN(DefaultPlan made,
                         LoadDefaultPlan(model, *bound, ReadFilePlans(model), executor));
  if (explanation != nullptr) *explanation = made.explanation;
  return std::move(made.loaded);
}

absl::StatusOr<LoadedPlan> DefaultOf(const std::string& bytes, Executor& executor) {
  const Model model = ModelWith({}, bytes);
  PLAIT_ASSIGN_OR_RETURN(const Bound bound, Bind(model, {}));
  PLAIT_ASSIGN_OR_RETURN(DefaultPlan made, LoadDefaultPlan(model, bound, {}, executor));
  return std::move(made.loaded);
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

// One kernel for each node, which a prediction would not choose, in what was measured.
EmbeddedPlan ByNode(int threads) {
  DeviceDescription device = OpenCpu(1)->device();
  device.threads = threads;
  const auto catalog = CatalogFor(device);
  const Graph graph = Bind(ModelWith({}), {{"x", {2, 8}}})->graph;
  const absl::StatusOr<PlannedGraph> by_node =
      PredictedBaseline(graph, device, **catalog, std::string(PlanEngineVersion()));
  EXPECT_TRUE(by_node.ok()) << by_node.status();
  return PlanOfRows(2, device, [&](Plan* plan) {
    *plan = by_node->plan;
    for (Step& step : plan->steps) step.kernel.width = threads;
  });
}

TEST(DefaultPlanTest, KeepsTheKernelsOfAPlanForOtherThreads) {
  for (const auto& [from, to] : {std::pair(2, 1), std::pair(1, 2)}) {
    const auto executor = OpenCpu(to);
    if (executor->device().threads != to) continue;  // the machine has fewer
    std::string explanation;
    const absl::StatusOr<LoadedPlan> loaded = Default({ByNode(from)}, 2, *executor, &explanation);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    EXPECT_EQ(loaded->plan.steps.size(), 2u);
    EXPECT_EQ(loaded->plan.threads, to);
    EXPECT_TRUE(loaded->plan.predicted);
    EXPECT_EQ(explanation, absl::StrCat("; its kernels run with ", to, " in the place of ", from,
                                        ", which nobody has measured"));
    EXPECT_EQ(RunOnOnes(*loaded)[0], 224.0f);
  }
}

TEST(DefaultPlanTest, PredictsWhereThePlanIsForOtherInstructions) {
  const auto executor = OpenCpu(1);
  DeviceDescription other = executor->device();
  other.fingerprint = "cpu;_Other;_sm_90;_threads=2";
  std::string explanation;
  const absl::StatusOr<LoadedPlan> loaded =
      Default({PlanOfRows(2, other)}, 2, *executor, &explanation);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_THAT(explanation, testing::HasSubstr("predicted times"));
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

// Nobody has brought these graphs into their normal form.
TEST(DefaultPlanTest, RunsAnEinsumByKernels) {
  const auto executor = OpenCpu(1);
  const std::tuple<std::string, std::string, std::string> rows[] = {
      {"bqc,bchw->bqhw", "a, b", "float[1,4,8] a, float[1,8,3,3] b"},
      {"bhid,bhjd->bhij", "a, b", "float[2,2,3,8] a, float[2,2,5,8] b"},
      {"ij,jk,kl->il", "a, b, c", "float[4,5] a, float[5,6] b, float[6,7] c"},
      {"ij,kj->ki", "a, b", "float16[4,5] a, float16[6,5] b"},
  };
  for (const auto& [equation, names, inputs] : rows) {
    SCOPED_TRACE(equation);
    const absl::StatusOr<LoadedPlan> loaded =
        DefaultOf(GraphBytes(17, absl::StrCat("g (", inputs, ") => (y) { y = Einsum <equation = \"",
                                              equation, "\"> (", names, ") }")),
                  *executor);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    EXPECT_EQ(loaded->executable->fallback_nodes(), 0);
  }
}

// In float32, and the result is rounded once.
TEST(DefaultPlanTest, RunsFloatsOf16BitsByKernels) {
  const auto executor = OpenCpu(1);
  std::vector<double> weights;
  for (int i = 0; i < 24; ++i) weights.push_back(std::sin(i) / 8);
  const Tensor w = Tensor::FromDoubles({DataType::kFloat16, {6, 4}}, weights);
  const std::string bytes = GraphBytes(
      17, "g (float16[2,6] x) => (float16[2,4] y) { p = MatMul(x, w) r = Tanh(p) y = Neg(r) }",
      [&](::onnx::ModelProto* model) {
        auto* const weight = model->mutable_graph()->add_initializer();
        weight->set_name("w");
        weight->set_data_type(10);
        for (const int dimension : {6, 4}) weight->add_dims(dimension);
        weight->set_raw_data(std::string(w.bytes()));
      });
  const absl::StatusOr<LoadedPlan> loaded = DefaultOf(bytes, *executor);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->executable->fallback_nodes(), 0);
  const TensorType type = {DataType::kFloat16, {2, 6}};
  const Tensor x = Tensor::FromDoubles(type, std::vector<double>(12, 1.0));
  const absl::StatusOr<std::vector<Tensor>> outputs = loaded->executable->Run({&x, 1});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  ASSERT_EQ(outputs->front().type(), TensorType({DataType::kFloat16, {2, 4}}));
  const std::vector<double> stored = w.AsDoubles();
  for (int j = 0; j < 8; ++j) {
    double sum = 0;
    for (int i = 0; i < 6; ++i) sum += stored[i * 4 + j % 4];
    // Half of the last place of 1/2 and below, and what float32 loses.
    EXPECT_NEAR(outputs->front().AsDoubles()[j], -std::tanh(sum), 0x1p-12 + 1e-6);
  }
}

// Whose row-major kernels take longer than theirs in channels-last and both conversions.
TEST(DefaultPlanTest, TakesGroupsInChannelsLast) {
  const auto executor = OpenCpu(1);
  const std::string models[] = {
      GraphBytes(17,
                 R"(g (uint8[1,32,28,28] x) => (y) {
                      one = Constant <value = float {0.1}> ()
                      zero = Constant <value = uint8 {120}> ()
                      w_zero = Constant <value = int8 {0}> ()
                      y = QLinearConv <group = 32>(x, one, zero, w, one, w_zero, one, zero)
                    })",
                 [](::onnx::ModelProto* model) {
                   auto* const weight = model->mutable_graph()->add_initializer();
                   weight->set_name("w");
                   weight->set_data_type(3);
                   for (const int dimension : {32, 1, 3, 3}) weight->add_dims(dimension);
                   weight->set_raw_data(std::string(32 * 9, 7));
                 }),
      GraphBytes(17,
                 R"(g (float[1,32,56,56] x) => (y) {
                      y = ConvTranspose <group = 32, strides = [2,2], pads = [1,1,1,1]>(x, w)
                    })",
                 [](::onnx::ModelProto* model) {
                   *model->mutable_graph()->add_initializer() = FloatTensor("w", {32, 1, 4, 4});
                 })};
  for (const std::string& model : models) {
    const absl::StatusOr<LoadedPlan> loaded = DefaultOf(model, *executor);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    const Plan& plan = loaded->plan;
    const auto step = std::find_if(plan.steps.begin(), plan.steps.end(),
                                   [](const Step& s) { return !s.kernel.nodes.empty(); });
    ASSERT_NE(step, plan.steps.end());
    EXPECT_EQ(step->kernel.output_formats, std::vector<Format>({Format::kChannelsLast}))
        << step->kernel.family;
  }
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
