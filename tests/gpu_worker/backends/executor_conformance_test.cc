#include <cstring>
#include <optional>
#include <set>

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "gpu_worker/executor/check_load.h"
#include "gpu_worker/executor/compare_outputs.h"
#include "gpu_worker/executor/make_inputs.h"
#include "gpu_worker/executor/measure_errors.h"
#include "gpu_worker/executor/measure_plans.h"
#include "optimizer/ops/evaluation/evaluate.h"
#include "tests/gpu_worker/executor/executor_fixture.h"
#include "tests/gpu_worker/executor/simple_plan.h"
#include "tests/optimizer/ops/samples.h"

// What holds for every backend of backends.def: the samples of all operators run by a plan, and the
// results are those of the reference evaluation.
namespace plait {
namespace {

struct BackendSample {
  std::string backend;
  OperatorSample sample;
};

// Keeps GoogleTest from printing a sample as bytes.
std::ostream& operator<<(std::ostream& out, const BackendSample& sample) {
  return out << sample.backend << ": " << sample.sample.node;
}

std::vector<BackendSample> AllBackendSamples() {
  std::vector<BackendSample> all;
#define PLAIT_BACKEND(name, Name) \
  for (const OperatorSample& sample : OperatorSamples()) all.push_back({#name, sample});
#include "gpu_worker/backends/backends.def"
#undef PLAIT_BACKEND
  return all;
}

class ExecutorConformanceTest : public testing::TestWithParam<BackendSample>,
                                protected WithExecutor {
 protected:
  void SetUp() override { Open(GetParam().backend, 1); }
};

TEST_P(ExecutorConformanceTest, DescribesADeviceOfItsBackend) {
  const DeviceDescription& device = executor_->device();
  EXPECT_EQ(device.backend, GetParam().backend);
  EXPECT_GE(device.threads, 1);
  EXPECT_EQ(device.fingerprint.find(' '), std::string::npos) << "it is a name in listings";
  EXPECT_FALSE(device.fingerprint.empty());
  EXPECT_GT(device.memory_bytes, 0);
}

TEST_P(ExecutorConformanceTest, OfferedKernelsAreOfAFamilyThatHasAVersion) {
  const absl::StatusOr<Graph> graph = ParseTypedGraph(GraphTextOf(GetParam().sample));
  ASSERT_TRUE(graph.ok()) << graph.status();
  for (NodeId node = 0; node < graph->node_count(); ++node) {
    const std::vector<Kernel> kernels = catalog_->KernelsAt(*graph, node, true);
    ASSERT_FALSE(kernels.empty());
    EXPECT_EQ(kernels.front().nodes, std::vector<NodeId>({node}));
    for (const Kernel& kernel : kernels) {
      EXPECT_FALSE(catalog_->Version(kernel.family).empty()) << kernel.family;
      EXPECT_LE(kernel.width, executor_->device().threads);
    }
  }
}

TEST_P(ExecutorConformanceTest, RunsTheSampleAsTheReferenceDoes) {
  const absl::StatusOr<Graph> graph = ParseTypedGraph(GraphTextOf(GetParam().sample));
  ASSERT_TRUE(graph.ok()) << graph.status();
  const Plan plan = SimplePlan(*graph, executor_->device(), *catalog_, {});
  const absl::StatusOr<std::unique_ptr<Executable>> executable =
      executor_->Load(*graph, plan, NoWeights());
  ASSERT_TRUE(executable.ok()) << executable.status();
  OutputComparer comparer(1e-5);
  for (int i = 0; i < 3; ++i) {
    const absl::StatusOr<std::vector<Tensor>> inputs = MakeInputs(*graph, 1, i);
    ASSERT_TRUE(inputs.ok()) << inputs.status();
    const absl::StatusOr<std::vector<Tensor>> expected =
        EvaluateGraph(*graph, *inputs, NoWeights());
    ASSERT_TRUE(expected.ok()) << expected.status();
    const absl::StatusOr<std::vector<Tensor>> actual = (*executable)->Run(*inputs);
    ASSERT_TRUE(actual.ok()) << actual.status();
    comparer.Add(*expected, *actual);
  }
  const OutputComparison comparison = comparer.Result();
  EXPECT_NE(comparison.equivalence.verdict, Verdict::kDifferent) << comparison.reason;
}

// A graph that declares other types than its nodes have: what a text can make of any graph.
struct Lie {
  const char* name;
  // nullptr: the types stay.
  void (*change_input)(TensorType* type);
  void (*change_output)(TensorType* type);
};

const Lie kLies[] = {
    {"a dimension more", nullptr, [](TensorType* type) { type->shape.push_back(3); }},
    {"a smaller result", nullptr,
     [](TensorType* type) {
       const Shape honest = type->shape;
       for (int64_t& dim : type->shape) dim = 1;
       // What is as small as can be has another rank.
       if (type->shape == honest || type->rank() < 2) type->shape.assign(honest.size() + 2, 1);
     }},
    {"another element type", nullptr,
     [](TensorType* type) {
       type->dtype = type->dtype == DataType::kInt8 ? DataType::kFloat64 : DataType::kInt8;
     }},
    {"no type", nullptr, [](TensorType* type) { *type = TensorType(); }},
    // Inference gives no types for any of these, so that nothing contradicts a text.
    {"complex inputs", [](TensorType* type) { type->dtype = DataType::kComplex64; }, nullptr},
    {"inputs of text", [](TensorType* type) { type->dtype = DataType::kString; }, nullptr},
};

// The graph with other types, and wherever types change, inputs in the place of constants.
Graph Told(const Lie& lie, const Graph& graph) {
  GraphBuilder builder;
  std::vector<TensorId> told(static_cast<size_t>(graph.tensor_count()), kNoTensor);
  for (TensorId id = 0; id < graph.tensor_count(); ++id) {
    TensorInfo info = graph.tensor(id);
    if (info.producer != kNoNode) continue;
    if (lie.change_input != nullptr) lie.change_input(&info.type);
    const bool stays = info.constant != nullptr && lie.change_input == nullptr;
    told[id] = stays ? builder.AddConstant(info.constant) : builder.AddInput(info.type, "");
  }
  for (Node node : graph.nodes()) {
    std::vector<TensorType> types;
    for (const TensorId output : node.outputs) {
      types.push_back(graph.type(output));
      if (lie.change_output != nullptr) lie.change_output(&types.back());
    }
    for (TensorId& input : node.inputs) input = input == kNoTensor ? kNoTensor : told[input];
    for (const TensorId output : builder.AddNode(node, types)) builder.AddOutput(output);
  }
  absl::StatusOr<Graph> lying = std::move(builder).Finish();
  EXPECT_TRUE(lying.ok()) << lying.status();
  return lying.ok() ? *std::move(lying) : Graph();
}

// A kernel of a family over all nodes of a graph, in the formats that every family has.
Kernel PlainKernel(const std::string& family, const Graph& graph) {
  Kernel kernel{.family = family};
  for (NodeId node = 0; node < graph.node_count(); ++node) kernel.nodes.push_back(node);
  kernel.input_formats.assign(InputsOf(graph, kernel.nodes).size(), Format::kPlain);
  kernel.output_formats.assign(OutputsOf(graph, kernel.nodes).size(), Format::kPlain);
  return kernel;
}

// A plan that runs a graph by one kernel between the caller's inputs and outputs.
Plan PlanOf(const Kernel& kernel, const Graph& graph, const DeviceDescription& device) {
  Plan plan;
  plan.graph_fingerprint = graph.fingerprint().ToString();
  plan.device_fingerprint = device.fingerprint;
  Step step{.kernel = kernel};
  const auto add = [&](const TensorId tensor) {
    plan.values.push_back({.tensor = tensor});
    return static_cast<int>(plan.values.size()) - 1;
  };
  for (const TensorId input : InputsOf(graph, kernel.nodes)) step.inputs.push_back(add(input));
  for (const TensorId output : OutputsOf(graph, kernel.nodes)) step.outputs.push_back(add(output));
  plan.steps.push_back(std::move(step));
  return plan;
}

class HostileGraphTest : public testing::TestWithParam<std::string>, protected WithExecutor {
 protected:
  void SetUp() override { Open(GetParam(), 1); }

  // All that the backend offers for any operator.
  std::set<std::string> Families() const {
    std::set<std::string> families;
    for (const OperatorSample& sample : OperatorSamples()) {
      const Graph graph = ParseTyped(GraphTextOf(sample));
      for (const Kernel& kernel : catalog_->KernelsAt(graph, 0, true)) {
        families.insert(kernel.family);
      }
    }
    return families;
  }
};

// Before any family sees the graph: what one of them would compute from its types is never asked.
TEST_P(HostileGraphTest, RefusesEveryOperatorInEveryFamilyWhenTypesAreNotTheInferredOnes) {
  const std::set<std::string> families = Families();
  for (const OperatorSample& sample : OperatorSamples()) {
    const Graph honest = ParseTyped(GraphTextOf(sample));
    ASSERT_TRUE(CheckTypes(honest).ok()) << CheckTypes(honest);
    for (const Lie& lie : kLies) {
      const Graph graph = Told(lie, honest);
      const absl::Status expected = CheckTypes(graph);
      EXPECT_TRUE(absl::IsInvalidArgument(expected)) << sample.node << ": " << lie.name;
      for (const std::string& family : families) {
        SCOPED_TRACE(absl::StrCat(sample.node, " by ", family, ": ", lie.name));
        const Kernel kernel = PlainKernel(family, graph);
        EXPECT_EQ(executor_->LoadKernel(graph, kernel, NoWeights()).status(), expected);
        const Plan plan = PlanOf(kernel, graph, executor_->device());
        EXPECT_EQ(executor_->Load(graph, plan, NoWeights()).status(), expected);
      }
    }
  }
}

TEST_P(HostileGraphTest, RefusesAConstantWhoseValueIsOfAnotherType) {
  GraphBuilder builder;
  const TensorType type{DataType::kFloat32, {100}};
  const TensorId constant = builder.AddConstant(
      std::make_shared<const Constant>(type, Constant::Inline{Tensor::Of<float>({1}, {1.0f})}));
  Node node{.op = OpKind::kAdd, .inputs = {builder.AddInput(type, "x"), constant}};
  builder.AddOutput(builder.AddNode(std::move(node), {type})[0]);
  const absl::StatusOr<Graph> graph = std::move(builder).Finish();
  ASSERT_TRUE(graph.ok()) << graph.status();
  const Plan plan = SimplePlan(*graph, executor_->device(), *catalog_, {});
  EXPECT_TRUE(absl::IsInvalidArgument(executor_->Load(*graph, plan, NoWeights()).status()));
}

TEST_P(HostileGraphTest, RefusesOutputsThatHoldNoNumbers) {
  const Graph graph = ParseTyped(R"(graph {
  input %x: float32[1]
  const %c: complex64[1] = raw "AAAAAAAAAAA="
  %y = Relu(%x)
  output %y, %c
})");
  const Plan plan = SimplePlan(graph, executor_->device(), *catalog_, {});
  EXPECT_TRUE(absl::IsInvalidArgument(executor_->Load(graph, plan, NoWeights()).status()));
}

// Some of these would be reserved, because memory that nobody writes costs nothing, and then be
// written.
TEST_P(HostileGraphTest, RefusesMoreMemoryThanThereIsBeforeAnyIsReserved) {
  for (const char* text :
       {"graph {\n input %x: float32[1099511627776]\n %y = Relu(%x)\n output %y\n}",
        "graph {\n input %x: float32[1]\n const %c: float32[1099511627776] = synthetic 1\n"
        " %y = Add(%x, %c)\n %z = ReduceSum(%y)\n output %z\n}",
        "graph {\n input %x: float32[1]\n const %s: int64[1] = [1099511627776]\n"
        " %y = Expand(%x, %s)\n %z = ReduceSum(%y)\n output %z\n}"}) {
    const Graph graph = ParseTyped(text);
    const Plan plan = SimplePlan(graph, executor_->device(), *catalog_, {});
    const CandidatePlan candidates[] = {{&graph, &plan}};
    EXPECT_TRUE(absl::IsResourceExhausted(executor_->Load(graph, plan, NoWeights()).status()));
    EXPECT_TRUE(absl::IsResourceExhausted(
        MeasurePlans(*executor_, candidates, NoWeights(), {.rounds = 3}).status()));
  }
  const Graph graph =
      ParseTyped("graph {\n input %x: float32[1099511627776]\n %y = Relu(%x)\n output %y\n}");
  const Kernel kernel = PlainKernel("reference", graph);
  EXPECT_TRUE(
      absl::IsResourceExhausted(executor_->LoadKernel(graph, kernel, NoWeights()).status()));
}

// A gibibyte fits once; what is kept to be compared does not.
TEST_P(HostileGraphTest, RefusesToDrawMoreInputsThanMemoryHolds) {
  const Graph graph =
      ParseTyped("graph {\n input %x: float32[268435456]\n %y = Relu(%x)\n output %y\n}");
  const Plan plan = SimplePlan(graph, executor_->device(), *catalog_, {});
  const CandidatePlan candidates[] = {{&graph, &plan}};
  EXPECT_TRUE(absl::IsResourceExhausted(
      MeasurePlans(*executor_, candidates, NoWeights(), {.random_inputs = 10'000}).status()));
}

class ObservedRunTest : public testing::TestWithParam<std::string>, protected WithExecutor {
 protected:
  void SetUp() override {
    Open(GetParam(), 0);
    if (IsSkipped()) return;
    Plan plan = SimplePlan(graph_, executor_->device(), *catalog_,
                           {.threads = executor_->device().threads});
    // What the third step writes takes the place of what the first one wrote.
    plan.values[plan.steps[2].outputs[0]].buffer = plan.values[plan.steps[0].outputs[0]].buffer;
    absl::StatusOr<std::unique_ptr<Executable>> executable =
        executor_->Load(graph_, plan, NoWeights());
    ASSERT_TRUE(executable.ok()) << executable.status();
    executable_ = *std::move(executable);
  }

  static Tensor Floats(const std::vector<float>& values) { return Tensor::Of<float>({4}, values); }

  const Graph graph_ = ParseTyped(R"(graph {
  input %x: float32[4]
  %a = Neg(%x)
  %b = Relu(%a)
  %c = Sub(%b, %x)
  %y = Neg(%c)
  output %y
})");
  const Tensor input_ = Floats({1, -2, 3, -4});
  std::unique_ptr<Executable> executable_;
};

TEST_P(ObservedRunTest, ShowsWhatTheWantedStepsRead) {
  std::vector<std::pair<int, std::vector<Tensor>>> seen;
  const auto observe = [&](int step, absl::Span<const Tensor> read) {
    seen.emplace_back(step, std::vector<Tensor>(read.begin(), read.end()));
    return absl::OkStatus();
  };
  const absl::Status status = executable_->RunObserved({input_}, {1, 2, 3}, observe);
  ASSERT_TRUE(status.ok()) << status;
  const std::vector<std::pair<int, std::vector<Tensor>>> expected = {
      {1, {Floats({-1, 2, -3, 4})}},
      {2, {Floats({0, 2, 0, 4}), input_}},
      {3, {Floats({-1, 4, -3, 8})}}};
  EXPECT_EQ(seen, expected);
}

TEST_P(ObservedRunTest, EndsWithTheObserversErrorAndCanRunAgain) {
  const auto refuse = [](int, absl::Span<const Tensor>) { return absl::AbortedError("enough"); };
  EXPECT_TRUE(absl::IsAborted(executable_->RunObserved({input_}, {2}, refuse)));
  EXPECT_TRUE(executable_->RunObserved({input_}, {}, refuse).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(executable_->RunObserved({}, {}, refuse)));
  const absl::StatusOr<std::vector<Tensor>> outputs = executable_->Run({input_});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_EQ(outputs->front(), Floats({1, -4, 3, -8}));
}

TEST_P(ObservedRunTest, TimesEveryStepOrSaysThatItCannot) {
  ASSERT_TRUE(executable_->SetInputs({input_}).ok());
  const absl::StatusOr<std::vector<double>> step_us = executable_->TimeSteps();
  if (GetParam() == "reference") {
    EXPECT_TRUE(absl::IsUnimplemented(step_us.status())) << step_us.status();
    return;
  }
  ASSERT_TRUE(step_us.ok()) << step_us.status();
  ASSERT_EQ(step_us->size(), 4u);
  for (const double us : *step_us) EXPECT_GT(us, 0);
  // What later steps read is what earlier ones wrote.
  const absl::StatusOr<std::vector<Tensor>> outputs = executable_->Run({input_});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_EQ(outputs->front(), Floats({1, -4, 3, -8}));
}

// As the islands of a model are run, between nodes that run on the host.
TEST_P(ObservedRunTest, RunsOnItsOwnMemoryOrSaysThatItCannot) {
  const absl::StatusOr<BoundTensors> bound = executable_->Bound();
  if (GetParam() == "cuda") {
    EXPECT_TRUE(absl::IsUnimplemented(bound.status())) << bound.status();
    return;
  }
  ASSERT_TRUE(bound.ok()) << bound.status();
  float y[4] = {};
  const auto* const x = reinterpret_cast<const std::byte*>(input_.bytes().data());
  const BoundCopy before = {bound->inputs[0].data, x, sizeof(y)};
  const BoundCopy after = {reinterpret_cast<std::byte*>(y), bound->outputs[0].data, sizeof(y)};
  for (int run = 0; run < 2; ++run) {
    // The second time on what is there.
    const absl::Status status = executable_->RunBound({&before, run == 0 ? 1u : 0u}, {&after, 1});
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(Floats({y[0], y[1], y[2], y[3]}), Floats({1, -4, 3, -8}));
    ASSERT_TRUE(executable_->Run({Floats({0, 0, 0, 0})}).ok());
    std::memcpy(bound->inputs[0].data, x, sizeof(y));
  }
}

std::vector<std::string> AllBackends() {
  return {
#define PLAIT_BACKEND(name, Name) #name,
#include "gpu_worker/backends/backends.def"
#undef PLAIT_BACKEND
  };
}

INSTANTIATE_TEST_SUITE_P(EveryBackend, HostileGraphTest, testing::ValuesIn(AllBackends()),
                         [](const testing::TestParamInfo<std::string>& info) {
                           return info.param;
                         });

class LayerErrorTest : public testing::TestWithParam<std::string>, protected WithExecutor {
 protected:
  void SetUp() override { Open(GetParam(), 1); }

  LayerError ErrorOf(const Graph& graph, const std::string& variant) {
    Plan plan = SimplePlan(graph, executor_->device(), *catalog_, {.threads = 1});
    plan.steps[0].kernel.variant = variant;
    const auto errors = MeasureErrors(*executor_, {&graph, &plan}, {0}, NoWeights(), {});
    EXPECT_TRUE(errors.ok()) << errors.status();
    return errors.ok() ? errors->front() : LayerError();
  }
};

// On the simulated device, too, whose libraries are stand-ins.
TEST_P(LayerErrorTest, ProductsInTf32LoseWhatTensorCoresDo) {
  if (GetParam() != "cuda") GTEST_SKIP() << "has no TF32";
  const Graph graph = ParseTyped(R"(graph {
  input %x: float32[16,64]
  const %w: float32[64,32] = synthetic 1
  %y = MatMul(%x, %w)
  output %y
})");
  Kernel kernel = catalog_->KernelsAt(graph, 0, false).front();
  const std::optional<std::string> less_exact = catalog_->LessExact(kernel);
  ASSERT_TRUE(less_exact.has_value());
  EXPECT_TRUE(catalog_->HasPrecision("tf32"));
  const LayerError strict = ErrorOf(graph, kernel.variant);
  EXPECT_TRUE(IsAdmitted(strict)) << strict.error;
  const LayerError rounded = ErrorOf(graph, *less_exact);
  EXPECT_FALSE(IsAdmitted(rounded));
  EXPECT_GT(rounded.error, 2e-5);
  EXPECT_LT(rounded.error, 2e-3);
}

INSTANTIATE_TEST_SUITE_P(EveryBackend, LayerErrorTest, testing::ValuesIn(AllBackends()),
                         [](const testing::TestParamInfo<std::string>& info) {
                           return info.param;
                         });

INSTANTIATE_TEST_SUITE_P(EveryBackend, ObservedRunTest, testing::ValuesIn(AllBackends()),
                         [](const testing::TestParamInfo<std::string>& info) {
                           return info.param;
                         });

INSTANTIATE_TEST_SUITE_P(EveryBackend, ExecutorConformanceTest,
                         testing::ValuesIn(AllBackendSamples()),
                         [](const testing::TestParamInfo<BackendSample>& info) {
                           return absl::StrCat(info.param.backend, info.param.sample.op,
                                               info.index);
                         });

}  // namespace
}  // namespace plait
