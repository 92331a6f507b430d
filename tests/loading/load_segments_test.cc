#include "loading/load_segments.h"

#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "gpu_worker/backends/catalogs.h"
#include "gpu_worker/backends/open_executor.h"
#include "loading/default_plan.h"
#include "optimizer/onnx/attach_plan.h"
#include "optimizer/onnx/import.h"
#include "optimizer/plan/embed_plan.h"
#include "optimizer/search/predicted_plan.h"
#include "optimizer/search/segments.h"
#include "tests/loading/planned_model.h"
#include "tests/optimizer/onnx/model_text.h"

namespace plait {
namespace {

using ::testing::HasSubstr;

// Gives its input as every output, where it has one.
class EchoSegment : public HostSegment {
 public:
  DataType OutputType(size_t /*index*/) const override { return DataType::kFloat32; }
  absl::Status Run(absl::Span<const HostTensor> inputs, absl::Span<HostTensor> outputs) override {
    if (inputs.empty()) return absl::InvalidArgumentError("nothing to echo");
    for (HostTensor& output : outputs) output = inputs[0];
    return absl::OkStatus();
  }
};

class EchoRunner : public HostRunner {
 public:
  absl::StatusOr<std::unique_ptr<HostSegment>> Load(absl::string_view /*model*/, int /*threads*/,
                                                    size_t /*output_count*/) override {
    ++loaded;
    return std::make_unique<EchoSegment>();
  }
  int loaded = 0;
};

// Relu, Neg | Echo | Neg, Abs | Echo.
std::string Chain() {
  return BytesFromText(
      "<ir_version: 7, opset_import: [\"\" : 13, \"com.example\" : 1]>\n"
      "g (float[4] x) => (float[4] y) {\n"
      "  a = Relu(x)\n  b = Neg(a)\n  c = com.example.Echo(b)\n  d = Neg(c)\n  e = Abs(d)\n"
      "  y = com.example.Echo(e)\n}",
      [](::onnx::ModelProto* model) {
        *model->mutable_graph()->add_value_info() = model->graph().input(0);
        model->mutable_graph()->mutable_value_info(0)->set_name("c");
      });
}

// A file of the chain with a measured plan for each of some islands.
class Planned {
 public:
  explicit Planned(Executor& executor) : executor_(executor) {
    bound_ = *Bind(*ImportOnnx(Chain()), {});
    islands_ = IslandsOf(bound_.graph);
  }

  const std::vector<Graph>& islands() const { return islands_; }

  void Add(const Graph& island) {
    const auto catalog = CatalogFor(executor_.device());
    absl::StatusOr<PlannedGraph> planned =
        PredictedPlan(island, executor_.device(), **catalog, std::string(PlanEngineVersion()));
    ASSERT_TRUE(planned.ok()) << planned.status();
    planned->plan.predicted = false;
    plans_.push_back(*EmbedPlanInOriginal(island, planned->plan, std::string(PlanEngineVersion())));
  }
  EmbeddedPlan& plan(size_t index) { return plans_[index]; }

  std::string File() const {
    const std::string bytes = Chain();
    const absl::StatusOr<ModelWithPlan> written = AttachPlans(bytes, plans_);
    std::string file;
    for (const absl::string_view kept : written->kept) file.append(kept.data(), kept.size());
    return file + written->appended;
  }

  absl::StatusOr<LoadedSegments> Load(HostRunner* runner) {
    const Model model = *ImportOnnx(File());
    return LoadSegments({model, bound_, ReadFilePlans(model), executor_, runner});
  }

 private:
  Executor& executor_;
  Bound bound_;
  std::vector<Graph> islands_;
  std::vector<EmbeddedPlan> plans_;
};

std::vector<float> RunOn(SegmentedModel& model, std::vector<float> x) {
  std::vector<float> y(x.size());
  const auto bytes = static_cast<int64_t>(x.size() * sizeof(float));
  const BoundCopy before = {model.bound().inputs[0].data,
                            reinterpret_cast<const std::byte*>(x.data()), bytes};
  const BoundCopy after = {reinterpret_cast<std::byte*>(y.data()), model.bound().outputs[0].data,
                           bytes};
  EXPECT_EQ(model.Run({&before, 1}, {&after, 1}), absl::OkStatus());
  return y;
}

TEST(LoadSegmentsTest, RunsIslandsOnTheReferenceDevice) {
  const absl::StatusOr<std::unique_ptr<Executor>> executor = OpenExecutor("reference", {});
  ASSERT_TRUE(executor.ok()) << executor.status();
  Planned planned(**executor);
  EchoRunner runner;
  const absl::StatusOr<LoadedSegments> loaded = planned.Load(&runner);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(RunOn(*loaded->model, {-1, 2, -3, 4}), (std::vector<float>{0, 2, 0, 4}));
  EXPECT_EQ(RunOn(*loaded->model, {5, 6, 7, -8}), (std::vector<float>{5, 6, 7, 0}));
}

TEST(LoadSegmentsTest, RunsIslandsByDefaultPlans) {
  const auto executor = OpenCpu(1);
  Planned planned(*executor);
  ASSERT_EQ(planned.islands().size(), 2u);
  EchoRunner runner;
  const absl::StatusOr<LoadedSegments> loaded = planned.Load(&runner);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(runner.loaded, 2);
  EXPECT_EQ(loaded->islands, 2);
  EXPECT_EQ(loaded->host_nodes, 2);
  EXPECT_EQ(loaded->kernels, 2);
  EXPECT_EQ(loaded->grade, PlanGrade::kDefault);
  EXPECT_FALSE(loaded->is_embedded);
  EXPECT_EQ(RunOn(*loaded->model, {-1, 2, 3, 0}), std::vector<float>({0, 2, 3, 0}));
}

TEST(LoadSegmentsTest, EachIslandRunsByItsOwnPlanOfTheFile) {
  const auto executor = OpenCpu(1);
  Planned planned(*executor);
  // Their order in the file says nothing.
  planned.Add(planned.islands()[1]);
  planned.Add(planned.islands()[0]);
  EchoRunner runner;
  const absl::StatusOr<LoadedSegments> loaded = planned.Load(&runner);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_TRUE(loaded->is_embedded);
  EXPECT_EQ(loaded->grade, PlanGrade::kExact);
  EXPECT_THAT(loaded->explanation, HasSubstr("2 nodes that plait lacks (Echo) run in"));
  EXPECT_EQ(RunOn(*loaded->model, {-1, 2, 3, 0}), std::vector<float>({0, 2, 3, 0}));
}

TEST(LoadSegmentsTest, TheWorstPlanSpeaksForAll) {
  const auto executor = OpenCpu(1);
  Planned planned(*executor);
  planned.Add(planned.islands()[0]);
  EchoRunner runner;
  const absl::StatusOr<LoadedSegments> loaded = planned.Load(&runner);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_FALSE(loaded->is_embedded);
  EXPECT_EQ(loaded->grade, PlanGrade::kDefault);
}

// Plans are a stranger's: one that is for an island by its names and no good is passed over.
TEST(LoadSegmentsTest, HostilePlansOfIslandsAreNotUsed) {
  const auto executor = OpenCpu(1);
  const std::vector<std::pair<const char*, const char*>> changes = {
      {"Neg", "Frob"},                           // an operator that there is not
      {"float32[4] = Neg", "float32[8] = Neg"},  // a type that it does not give
      {"output", "input"},
  };
  for (const auto& [from, to] : changes) {
    SCOPED_TRACE(from);
    Planned planned(*executor);
    planned.Add(planned.islands()[0]);
    planned.Add(planned.islands()[1]);
    std::string& text = planned.plan(0).graph;
    const size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << text;
    text.replace(at, std::strlen(from), to);
    EchoRunner runner;
    const absl::StatusOr<LoadedSegments> loaded = planned.Load(&runner);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    EXPECT_FALSE(loaded->is_embedded);
    EXPECT_EQ(RunOn(*loaded->model, {-1, 2, 3, 0}), std::vector<float>({0, 2, 3, 0}));
  }
}

TEST(LoadSegmentsTest, NamesTheNodesWithoutARunner) {
  const auto executor = OpenCpu(1);
  const absl::StatusOr<LoadedSegments> loaded = Planned(*executor).Load(nullptr);
  EXPECT_EQ(loaded.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(loaded.status().message()),
              HasSubstr("Echo of 'c': Echo cannot be run: operator of domain 'com.example'"));
}

TEST(LoadSegmentsTest, NodesThatNothingReadsNeedNoRunner) {
  const Model model = *ImportOnnx(
      BytesFromText("<ir_version: 7, opset_import: [\"\" : 13, \"com.example\" : 1]>\n"
                    "g (float[4] x) => (float[4] y) { y = Relu(x) z = com.example.Echo(x) }"));
  const Bound bound = *Bind(model, {});
  EXPECT_EQ(bound.opaque_nodes.size(), 1u);
  EXPECT_EQ(CheckNoOpaqueNode(bound), absl::OkStatus());
}

TEST(LoadSegmentsTest, RefusesValuesThatAreNoTensorsOfNumbers) {
  const auto executor = OpenCpu(1);
  const Model model = *ImportOnnx(GraphBytes(13, R"(g (string[2] s, float[2] x) => (float[2] y) {
      e = Equal(s, s)
      f = Cast <to = 1> (e)
      y = Add(f, x)
    })"));
  const Bound bound = *Bind(model, {});
  EchoRunner runner;
  const auto loaded = LoadSegments({model, bound, {}, *executor, &runner});
  EXPECT_EQ(loaded.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(loaded.status().message()), HasSubstr("'s'"));
}

TEST(LoadSegmentsTest, RefusesWhatMemoryDoesNotHold) {
  const auto executor = OpenCpu(1);
  const Model model = *ImportOnnx(
      BytesFromText("<ir_version: 7, opset_import: [\"com.example\" : 1]>\n"
                    "g (float[1000000,100000] x) => (float[N] y) { y = com.example.Echo(x) }"));
  const Bound bound = *Bind(model, {});
  EchoRunner runner;
  const auto loaded = LoadSegments({model, bound, {}, *executor, &runner});
  EXPECT_EQ(loaded.status().code(), absl::StatusCode::kResourceExhausted);
}

// Files with a few other bytes: whatever they are, they load and run, or are refused.
TEST(LoadSegmentsTest, SpoiledFilesAreRefusedOrRun) {
  const auto executor = OpenCpu(1);
  Planned planned(*executor);
  planned.Add(planned.islands()[0]);
  planned.Add(planned.islands()[1]);
  const std::string file = planned.File();
  Random random(23);
  int loaded_count = 0;
  for (int execution = 0; execution < 500; ++execution) {
    SCOPED_TRACE(execution);
    std::string spoiled = file;
    for (int64_t changes = random.Integer(1, 3); changes > 0; --changes) {
      const auto at = static_cast<size_t>(random.Integer(0, static_cast<int64_t>(file.size()) - 1));
      spoiled[at] = static_cast<char>(random.Integer(0, 255));
    }
    const absl::StatusOr<Model> model = ImportOnnx(spoiled);
    if (!model.ok()) continue;
    const absl::StatusOr<Bound> bound = Bind(*model, {});
    if (!bound.ok() || !HasOpaqueNodes(bound->graph)) continue;
    EchoRunner runner;
    const absl::StatusOr<LoadedSegments> loaded =
        LoadSegments({*model, *bound, ReadFilePlans(*model), *executor, &runner});
    if (!loaded.ok()) continue;
    ++loaded_count;
    // Whether it succeeds depends on what is declared now.
    const absl::Status ran = loaded->model->Run({}, {});
    EXPECT_TRUE(ran.ok() || !ran.message().empty());
  }
  EXPECT_GT(loaded_count, 20);
}

// Sanitizers end a program that asks for so much.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(LoadSegmentsTest, WhatNoMemoryHoldsIsAnError) {
  GraphBuilder builder;
  builder.AddOutput(builder.AddInput({DataType::kInt8, {int64_t{1} << 61}}, "x"));
  const Graph graph = *std::move(builder).Finish();
  const Model model = *ImportOnnx(Chain());
  const absl::Status status = SegmentedModel::Make(graph, {}, {}, model.weights()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("the 2305843009213693952 bytes of 'x'"));
}
#endif

}  // namespace
}  // namespace plait
