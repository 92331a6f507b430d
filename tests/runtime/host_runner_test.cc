#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "onnx/checker.h"
#include "plait/runtime.h"
#include "tests/optimizer/onnx/model_text.h"
#include "tests/runtime/session.h"

// An application that brings a runtime for the nodes that plait does not know. This one knows two
// operators of com.example: Double, and Positive, which gives the elements above zero; and one of
// ONNX's, Unsqueeze, as it appends an axis.

namespace plait {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// One value of the runner's.
struct Numbers {
  std::vector<int64_t> dims;
  std::vector<float> values;
};

// A model that the runner has loaded: one chain of nodes.
struct Loaded {
  onnx::ModelProto model;
  std::vector<Numbers> results;
};

// What the runner is asked and does. `change` spoils its results.
struct Runner {
  std::vector<std::unique_ptr<Loaded>> segments;
  int unloaded = 0;
  const char* load_error = nullptr;
  const char* run_error = nullptr;
  void (*change)(plait_tensor*) = nullptr;
};

Numbers Run(const onnx::NodeProto& node, const Numbers& input) {
  Numbers output = {input.dims, {}};
  for (const float value : input.values) {
    if (node.op_type() == "Double") output.values.push_back(2 * value);
    if (node.op_type() == "Positive" && value > 0) output.values.push_back(value);
  }
  if (node.op_type() == "Positive") output.dims = {static_cast<int64_t>(output.values.size())};
  if (node.op_type() == "Unsqueeze") {
    output.values = input.values;
    output.dims.push_back(1);
  }
  return output;
}

const char* LoadModel(void* context, const void* model, size_t size, int32_t threads,
                      plait_tensor* outputs, size_t output_count, void** segment) {
  auto& runner = *static_cast<Runner*>(context);
  if (runner.load_error != nullptr) return runner.load_error;
  auto loaded = std::make_unique<Loaded>();
  EXPECT_GT(threads, 0);
  EXPECT_TRUE(loaded->model.ParseFromArray(model, static_cast<int>(size)));
  EXPECT_EQ(output_count, static_cast<size_t>(loaded->model.graph().output_size()));
  for (size_t i = 0; i < output_count; ++i) outputs[i].element_type = PLAIT_ELEMENT_FLOAT32;
  *segment = loaded.get();
  runner.segments.push_back(std::move(loaded));
  return nullptr;
}

const char* RunModel(void* context, void* segment, const plait_tensor* inputs, size_t input_count,
                     plait_tensor* outputs, size_t output_count) {
  auto& runner = *static_cast<Runner*>(context);
  if (runner.run_error != nullptr) return runner.run_error;
  auto& loaded = *static_cast<Loaded*>(segment);
  const onnx::GraphProto& graph = loaded.model.graph();
  std::map<std::string, Numbers> values;
  for (size_t i = 0; i < input_count; ++i) {
    Numbers& value = values[graph.input(static_cast<int>(i)).name()];
    value.dims.assign(inputs[i].dims, inputs[i].dims + inputs[i].rank);
    value.values.resize(inputs[i].byte_size / sizeof(float));
    std::memcpy(value.values.data(), inputs[i].data, inputs[i].byte_size);
  }
  for (const onnx::NodeProto& node : graph.node()) {
    values[node.output(0)] = Run(node, values.at(node.input(0)));
  }
  loaded.results.resize(output_count);
  for (size_t i = 0; i < output_count; ++i) {
    Numbers& result = loaded.results[i];
    result = values.at(graph.output(static_cast<int>(i)).name());
    outputs[i].element_type = PLAIT_ELEMENT_FLOAT32;
    outputs[i].rank = result.dims.size();
    outputs[i].dims = result.dims.data();
    outputs[i].data = result.values.data();
    outputs[i].byte_size = result.values.size() * sizeof(float);
    if (runner.change != nullptr) runner.change(&outputs[i]);
  }
  return nullptr;
}

void Unload(void* context, void* segment) {
  auto& runner = *static_cast<Runner*>(context);
  EXPECT_NE(segment, nullptr);
  ++runner.unloaded;
}

Error CreateWith(const std::string& model, Runner* runner, Session* session) {
  const plait_host_runner functions = {sizeof(plait_host_runner), runner, LoadModel, RunModel,
                                       Unload};
  plait_session_options options = PLAIT_SESSION_OPTIONS_INIT;
  options.threads = 1;
  if (runner != nullptr) options.host_runner = &functions;
  return Create(model, &options, session);
}

Session CreatedWith(const std::string& model, Runner* runner) {
  Session session;
  const Error error = CreateWith(model, runner, &session);
  EXPECT_EQ(error, nullptr) << Text(error);
  return session;
}

std::string Model(const std::string& graph,
                  const std::function<void(onnx::ModelProto*)>& change = nullptr) {
  return BytesFromText("<ir_version: 7, opset_import: [\"\" : 13, \"com.example\" : 1]>\n" + graph,
                       change);
}

void Declare(const std::string& name, const std::vector<int64_t>& dims, onnx::ModelProto* model) {
  onnx::ValueInfoProto& value = *model->mutable_graph()->add_value_info();
  value.set_name(name);
  auto& tensor = *value.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(onnx::TensorProto::FLOAT);
  for (const int64_t dim : dims) tensor.mutable_shape()->add_dim()->set_dim_value(dim);
}

// Two blocks of a convolution with a node between them that doubles.
std::string Blocks(const std::string& node) {
  return Model(
      "g (float[1,2,6,6] x) => (float[1,2,6,6] y) {\n"
      "  a = Conv <pads = [1,1,1,1]> (x, v)\n  b = Relu(a)\n  c = " +
          node + "\n  d = Conv <pads = [1,1,1,1]> (c, w)\n  y = Relu(d)\n}",
      [](onnx::ModelProto* model) {
        Declare("c", {1, 2, 6, 6}, model);
        *model->mutable_graph()->add_initializer() = FloatTensor("v", {2, 2, 3, 3}, -4, 0.25f);
        *model->mutable_graph()->add_initializer() = FloatTensor("w", {2, 2, 3, 3}, 3, -0.125f);
      });
}

std::vector<float> Ramp(size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i % 11) - 5;
  return values;
}

// Runs a model of one input; its one output, as it lies behind the run.
Error RunOnce(const Session& session, std::vector<float> x, Numbers* y) {
  plait_tensor input = PLAIT_TENSOR_INIT;
  plait_tensor output = PLAIT_TENSOR_INIT;
  EXPECT_EQ(plait_session_describe_input(session.get(), 0, &input), nullptr);
  EXPECT_EQ(plait_session_bound_output(session.get(), 0, &output), nullptr);
  input.data = x.data();
  Error error(plait_session_run(session.get(), &input, 1, &output, 1));
  if (error != nullptr) return error;
  error.reset(plait_session_last_output(session.get(), 0, &output));
  if (error != nullptr) return error;
  y->dims.assign(output.dims, output.dims + output.rank);
  y->values.resize(output.byte_size / sizeof(float));
  std::memcpy(y->values.data(), output.data, output.byte_size);
  return nullptr;
}

Numbers RunOnce(const Session& session, std::vector<float> x) {
  Numbers y;
  const Error error = RunOnce(session, std::move(x), &y);
  EXPECT_EQ(error, nullptr) << Text(error);
  return y;
}

TEST(HostRunnerTest, WithoutOneTheModelIsRefusedByTheNodesName) {
  Session session;
  const Error error = CreateWith(Blocks("com.example.Double(b)"), nullptr, &session);
  ASSERT_NE(error, nullptr);
  EXPECT_EQ(plait_error_get_code(error.get()), PLAIT_ERROR_UNSUPPORTED);
  EXPECT_THAT(Text(error), AllOf(HasSubstr("Double"), HasSubstr("domain 'com.example'"),
                                 HasSubstr("host_runner in plait_session_options")));
}

// What plait computes itself needs none, and what follows it is bound in the run.
TEST(HostRunnerTest, WithoutOneSizesMayStillDependOnTheRun) {
  Session session;
  const Error error = CreateWith(Model("g (float[2,3] x) => (float[n] y) {\n  a = Relu(x)\n"
                                       "  p = NonZero(a)\n  q = Transpose(p)\n"
                                       "  r = GatherND(a, q)\n  y = Neg(r)\n}"),
                                 nullptr, &session);
  ASSERT_EQ(error, nullptr) << Text(error);
  plait_plan_info info = PLAIT_PLAN_INFO_INIT;
  ASSERT_EQ(plait_session_get_plan(session.get(), &info), nullptr);
  EXPECT_EQ(info.host_nodes, 1);
  EXPECT_THAT(info.explanation, HasSubstr("1 node that plait lacks (NonZero) runs node by node"));
  EXPECT_THAT(RunOnce(session, {1, -2, 3, 0, 5, 6}).values, ElementsAre(-1, -3, -5, -6));
  const Numbers less = RunOnce(session, {0, -2, 3, 0, 0, 0});
  EXPECT_THAT(less.dims, ElementsAre(1));
  EXPECT_THAT(less.values, ElementsAre(-3));
  EXPECT_THAT(RunOnce(session, {0, 0, 0, 0, 0, 0}).dims, ElementsAre(0));
}

// A product behind a runner's node: its size is known in a run, and the runner does not get it.
TEST(HostRunnerTest, ProductsBehindItRunByPlans) {
  Runner runner;
  const Session session = CreatedWith(
      Model("g (float[6] x) => (float[n,4] y) {\n  a = Relu(x)\n"
            "  b = com.example.Positive(a)\n  c = Unsqueeze(b, one)\n  d = MatMul(c, w)\n"
            "  y = Neg(d)\n}",
            [](onnx::ModelProto* model) {
              *model->mutable_graph()->add_initializer() = Int64Tensor("one", {1});
              *model->mutable_graph()->add_initializer() = FloatTensor("w", {1, 4}, 1, 1);
            }),
      &runner);
  ASSERT_EQ(runner.segments.size(), 1u);
  EXPECT_EQ(runner.segments[0]->model.graph().node_size(), 2);
  plait_plan_info info = PLAIT_PLAN_INFO_INIT;
  ASSERT_EQ(plait_session_get_plan(session.get(), &info), nullptr);
  EXPECT_EQ(info.host_nodes, 2);
  EXPECT_THAT(info.explanation, HasSubstr("2 nodes behind them are planned when a run tells"));
  for (int run = 0; run < 2; ++run) {
    Numbers y = RunOnce(session, {1, -2, 3, 0, 5, 6});
    EXPECT_THAT(y.dims, ElementsAre(4, 4));
    EXPECT_THAT(y.values,
                ElementsAre(-1, -2, -3, -4, -3, -6, -9, -12, -5, -10, -15, -20, -6, -12, -18, -24));
    y = RunOnce(session, {0, -2, 3, 0, 0, -6});
    EXPECT_THAT(y.dims, ElementsAre(1, 4));
    EXPECT_THAT(y.values, ElementsAre(-3, -6, -9, -12));
    y = RunOnce(session, {0, -2, -3, 0, 0, -6});
    EXPECT_THAT(y.dims, ElementsAre(0, 4));
  }
}

TEST(HostRunnerTest, RunsWhatPlaitDoesNotKnowBetweenItsPlans) {
  Runner runner;
  {
    const Session session = CreatedWith(Blocks("com.example.Double(b)"), &runner);
    const Session known = CreatedWith(Blocks("Add(b, b)"), nullptr);
    ASSERT_NE(session, nullptr);
    ASSERT_EQ(runner.segments.size(), 1u);
    EXPECT_NO_THROW(onnx::checker::check_model(runner.segments[0]->model));
    EXPECT_EQ(runner.segments[0]->model.graph().node_size(), 1);
    plait_plan_info info = PLAIT_PLAN_INFO_INIT;
    ASSERT_EQ(plait_session_get_plan(session.get(), &info), nullptr);
    EXPECT_EQ(info.source, PLAIT_PLAN_DEFAULT);
    EXPECT_EQ(info.host_nodes, 1);
    EXPECT_EQ(info.islands, 2);
    EXPECT_GE(info.kernels, 2) << "of both islands";
    EXPECT_THAT(info.explanation, HasSubstr("1 node that plait lacks (Double) runs in"));
    for (int run = 0; run < 2; ++run) {
      const Numbers y = RunOnce(session, Ramp(72));
      EXPECT_EQ(y.values, RunOnce(known, Ramp(72)).values);
      EXPECT_THAT(y.dims, ElementsAre(1, 2, 6, 6));
    }
    ASSERT_EQ(plait_session_get_plan(known.get(), &info), nullptr);
    EXPECT_EQ(info.islands, 0);
  }
  EXPECT_EQ(runner.unloaded, 1);
}

TEST(HostRunnerTest, RunsOnTheSessionsOwnBuffers) {
  Runner runner;
  const Session session = CreatedWith(Blocks("com.example.Double(b)"), &runner);
  plait_tensor x = PLAIT_TENSOR_INIT;
  plait_tensor y = PLAIT_TENSOR_INIT;
  ASSERT_EQ(plait_session_bound_input(session.get(), 0, &x), nullptr);
  ASSERT_EQ(plait_session_bound_output(session.get(), 0, &y), nullptr);
  const std::vector<float> ramp = Ramp(72);
  std::memcpy(x.data, ramp.data(), x.byte_size);
  ASSERT_EQ(plait_session_run_bound(session.get()), nullptr);
  const auto* const values = static_cast<const float*>(y.data);
  EXPECT_EQ(std::vector<float>(values, values + 72), RunOnce(session, ramp).values);
}

TEST(HostRunnerTest, AnOutputMayHaveAShapeThatOnlyARunTells) {
  Runner runner;
  const Session session = CreatedWith(
      Model("g (float[8] x) => (float[N] y) { a = Neg(x) y = com.example.Positive(a) }"), &runner);
  plait_tensor y = PLAIT_TENSOR_INIT;
  ASSERT_EQ(plait_session_describe_output(session.get(), 0, &y), nullptr);
  EXPECT_EQ(y.element_type, PLAIT_ELEMENT_FLOAT32);
  ASSERT_EQ(y.rank, 1u);
  EXPECT_EQ(y.dims[0], -1);
  EXPECT_EQ(y.byte_size, 0u);
  const Error error(plait_session_last_output(session.get(), 0, &y));
  EXPECT_EQ(plait_error_get_code(error.get()), PLAIT_ERROR_FAILED_PRECONDITION);
  EXPECT_THAT(RunOnce(session, {1, -2, 3, -4, 5, -6, 7, 8}).values, ElementsAre(2, 4, 6));
  EXPECT_THAT(RunOnce(session, {1, -2, 3, 4, 5, 6, 7, 8}).dims, ElementsAre(1));
  EXPECT_THAT(RunOnce(session, Ramp(8)).values, ElementsAre(5, 4, 3, 2, 1));
  const Numbers none = RunOnce(session, std::vector<float>(8, 1));
  EXPECT_THAT(none.dims, ElementsAre(0));
}

// A value of no known type passes from one host segment to another, past an island.
TEST(HostRunnerTest, ValuesOfUnknownShapePassBetweenItsParts) {
  Runner runner;
  const Session session =
      CreatedWith(Model("g (float[4] x) => (float[4] y, float[M] z) {\n"
                        "  a = Neg(x)\n  p = com.example.Positive(a)\n  b = com.example.Double(a)\n"
                        "  y = Exp(b)\n  z = com.example.Double(p)\n}",
                        [](onnx::ModelProto* model) { Declare("b", {4}, model); }),
                  &runner);
  std::vector<float> x = {0, -1, 1, -2};
  plait_tensor input = PLAIT_TENSOR_INIT;
  plait_tensor outputs[2] = {PLAIT_TENSOR_INIT, PLAIT_TENSOR_INIT};
  std::vector<float> y(4);
  ASSERT_EQ(plait_session_describe_input(session.get(), 0, &input), nullptr);
  ASSERT_EQ(plait_session_describe_output(session.get(), 0, &outputs[0]), nullptr);
  input.data = x.data();
  outputs[0].data = y.data();
  const Error error(plait_session_run(session.get(), &input, 1, outputs, 2));
  ASSERT_EQ(error, nullptr) << Text(error);
  EXPECT_FLOAT_EQ(y[0], 1);
  EXPECT_FLOAT_EQ(y[1], 7.3890561f);
  ASSERT_EQ(plait_session_last_output(session.get(), 1, &outputs[1]), nullptr);
  ASSERT_EQ(outputs[1].byte_size, 2 * sizeof(float));
  EXPECT_EQ(static_cast<const float*>(outputs[1].data)[1], 4);
}

TEST(HostRunnerTest, ItsErrorsAreTheSessions) {
  Runner runner;
  runner.load_error = "it has no Double either";
  Session session;
  const Error error = CreateWith(Blocks("com.example.Double(b)"), &runner, &session);
  EXPECT_EQ(plait_error_get_code(error.get()), PLAIT_ERROR_UNSUPPORTED);
  EXPECT_EQ(Text(error), "nodes that plait lacks (Double): it has no Double either");
  runner.load_error = nullptr;
  session = CreatedWith(Blocks("com.example.Double(b)"), &runner);
  runner.run_error = "out of luck";
  Numbers y;
  const Error failed = RunOnce(session, Ramp(72), &y);
  EXPECT_EQ(plait_error_get_code(failed.get()), PLAIT_ERROR_FAILED_PRECONDITION);
  EXPECT_THAT(Text(failed), HasSubstr("out of luck"));
  plait_tensor output = PLAIT_TENSOR_INIT;
  const Error no_run(plait_session_last_output(session.get(), 0, &output));
  EXPECT_EQ(plait_error_get_code(no_run.get()), PLAIT_ERROR_FAILED_PRECONDITION);
  runner.run_error = nullptr;
  EXPECT_EQ(RunOnce(session, Ramp(72)).values.size(), 72u);
}

// A node of an operator that plait knows, for numbers that neither takes.
TEST(HostRunnerTest, WhatNobodyRunsIsUnsupported) {
  Runner runner;
  runner.load_error = "it has no ReduceLogSum";
  const Session session =
      CreatedWith(Model("g (uint32[2] x) => (uint32[1] y) { y = ReduceLogSum(x) }"), &runner);
  Numbers y;
  const Error error = RunOnce(session, {3, 4}, &y);
  EXPECT_EQ(plait_error_get_code(error.get()), PLAIT_ERROR_UNSUPPORTED);
  EXPECT_THAT(Text(error),
              HasSubstr("nodes that plait lacks (ReduceLogSum): it has no ReduceLogSum"));
}

TEST(HostRunnerTest, WhatItGivesMustBeWhatTheModelDeclares) {
  static const int64_t kOther[] = {1, 2, 6, 5};
  static const int64_t kNegative[] = {1, 2, 6, -6};
  const std::vector<std::pair<void (*)(plait_tensor*), const char*>> wrongs = {
      {[](plait_tensor* y) { y->element_type = PLAIT_ELEMENT_INT32; }, "declares as float32"},
      {[](plait_tensor* y) { y->element_type = 99; }, "is no tensor of numbers"},
      {[](plait_tensor* y) { y->byte_size -= 4; }, "byte_size 284"},
      {[](plait_tensor* y) { y->rank = 1000; }, "has rank 1000"},
      {[](plait_tensor* y) { y->data = nullptr; }, "has no data"},
      {[](plait_tensor* y) { y->dims = nullptr; }, "has no dimensions"},
      {[](plait_tensor* y) { y->memory_kind = 7; }, "processor's memory"},
      {[](plait_tensor* y) { y->dims = kNegative; }, "has shape [1,2,6,-6]"},
      {[](plait_tensor* y) {
         y->dims = kOther;
         y->byte_size = 240;
       },
       "gave float32[1,2,6,5] for 'c', which the model declares as float32[1,2,6,6]"},
  };
  Runner runner;
  const Session session = CreatedWith(Blocks("com.example.Double(b)"), &runner);
  for (const auto& [change, text] : wrongs) {
    SCOPED_TRACE(text);
    runner.change = change;
    Numbers y;
    const Error error = RunOnce(session, Ramp(72), &y);
    ASSERT_NE(error, nullptr);
    EXPECT_EQ(plait_error_get_code(error.get()), PLAIT_ERROR_FAILED_PRECONDITION);
    EXPECT_THAT(Text(error), HasSubstr(text));
  }
}

// Subgraphs read by name, also what a convolution has made and an initializer.
TEST(HostRunnerTest, GetsSubgraphsWithWhatTheyRead) {
  const std::string model =
      GraphBytes(13, R"(g (float[1,2,6,6] x, bool cond) => (float[1,2,6,6] y) {
        a = Relu(x)
        y = If (cond) <
            then_branch = g1 () => (float[1,2,6,6] z) { z = Add(a, w) },
            else_branch = g2 () => (float[1,2,6,6] z) { z = Identity(a) }>
      })",
                 [](onnx::ModelProto* proto) {
                   *proto->mutable_graph()->add_initializer() = FloatTensor("w", {1, 2, 6, 6});
                 });
  Runner runner;
  const Session session = CreatedWith(model, &runner);
  ASSERT_EQ(runner.segments.size(), 1u);
  const onnx::GraphProto& graph = runner.segments[0]->model.graph();
  EXPECT_NO_THROW(onnx::checker::check_model(runner.segments[0]->model));
  ASSERT_EQ(graph.node_size(), 1);
  EXPECT_EQ(graph.node(0).op_type(), "If");
  ASSERT_EQ(graph.initializer_size(), 1);
  EXPECT_EQ(graph.initializer(0).name(), "w");
  EXPECT_EQ(graph.input_size(), 2);
}

TEST(HostRunnerTest, OneThatLacksAFunctionIsRefused) {
  plait_host_runner runner = PLAIT_HOST_RUNNER_INIT;
  plait_session_options options = PLAIT_SESSION_OPTIONS_INIT;
  options.host_runner = &runner;
  const std::string model = Blocks("Add(b, b)");
  plait_session* session = nullptr;
  Error error(plait_session_create_from_memory(model.data(), model.size(), &options, &session));
  EXPECT_THAT(Text(error), HasSubstr("load, run and unload must not be NULL"));
  runner.struct_size = 8;
  error.reset(plait_session_create_from_memory(model.data(), model.size(), &options, &session));
  EXPECT_THAT(Text(error), HasSubstr("host_runner: struct_size is 8"));
  // A program that was compiled before there were host runners.
  options.struct_size = 48;
  error.reset(plait_session_create_from_memory(model.data(), model.size(), &options, &session));
  EXPECT_EQ(error, nullptr) << Text(error);
  plait_session_destroy(session);
}

}  // namespace
}  // namespace plait
