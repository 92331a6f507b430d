#include <algorithm>
#include <limits>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "optimizer/onnx/attach_plan.h"
#include "optimizer/onnx/import.h"
#include "optimizer/ops/shared/op_spec.h"
#include "plait/runtime.h"
#include "tests/loading/planned_model.h"
#include "tests/optimizer/onnx/model_text.h"
#include "tests/runtime/session.h"

// Sessions of a model with an open batch: runs of any size of it, by the plan for it, or the
// nearest one bound to it.

namespace plait {
namespace {

using testing::Each;
using testing::HasSubstr;

// Plans of OpenModel of one thread for 2 and for 4 rows.
std::vector<EmbeddedPlan> Plans() {
  const auto executor = OpenCpu(1);
  return {PlanOfRows(2, executor->device()), PlanOfRows(4, executor->device())};
}

std::string ModelWithPlans(const std::string& original, const std::vector<EmbeddedPlan>& plans) {
  const ModelWithPlan written = *AttachPlans(original, plans);
  std::string bytes;
  for (const absl::string_view kept : written.kept) bytes.append(kept.data(), kept.size());
  return bytes + written.appended;
}

Session OpenSession(const plait_session_options& options,
                    const std::vector<EmbeddedPlan>& plans = Plans()) {
  return Created(ModelWithPlans(OpenModel(), plans), options);
}

Session OpenSession() {
  plait_session_options options = PLAIT_SESSION_OPTIONS_INIT;
  return OpenSession(options);
}

plait_tensor Rows(const int64_t* dims, void* data) {
  plait_tensor tensor = PLAIT_TENSOR_INIT;
  tensor.element_type = PLAIT_ELEMENT_FLOAT32;
  tensor.rank = 2;
  tensor.dims = dims;
  tensor.data = data;
  tensor.byte_size = static_cast<size_t>(dims[0] * dims[1]) * sizeof(float);
  return tensor;
}

// A run on rows of ones, into outputs of the same shape; every first column must be 224.
Error RunRows(plait_session* session, int64_t rows) {
  const int64_t dims[] = {rows, 8};
  std::vector<float> x(static_cast<size_t>(8 * rows), 1.0f);
  std::vector<float> y(x.size());
  const plait_tensor input = Rows(dims, x.data());
  const plait_tensor output = Rows(dims, y.data());
  Error error(plait_session_run(session, &input, 1, &output, 1));
  if (error != nullptr) return error;
  for (size_t i = 0; i < y.size(); ++i) {
    EXPECT_EQ(y[i], 224.0f + 8 * static_cast<float>(i % 8)) << rows << " rows, element " << i;
  }
  return error;
}

TEST(RuntimeShapesTest, RunsAnySizeOfAnOpenDimension) {
  const Session session = OpenSession();
  ASSERT_NE(session, nullptr);
  plait_tensor usual = PLAIT_TENSOR_INIT;
  ASSERT_EQ(plait_session_describe_input(session.get(), 0, &usual), nullptr);
  EXPECT_EQ(usual.dims[0], 2);
  // More than stay loaded, and some again.
  for (int round = 0; round < 2; ++round) {
    for (int64_t rows = 1; rows <= 20; ++rows) {
      const Error error = RunRows(session.get(), rows);
      EXPECT_EQ(error, nullptr) << Text(error);
    }
  }
}

TEST(RuntimeShapesTest, DescribesOutputsOfOtherShapes) {
  const Session session = OpenSession();
  plait_tensor first = PLAIT_TENSOR_INIT;
  for (int64_t rows = 1; rows <= 20; ++rows) {
    const int64_t dims[] = {rows, 8};
    const plait_tensor input = Rows(dims, nullptr);
    plait_tensor output = PLAIT_TENSOR_INIT;
    ASSERT_EQ(plait_session_describe_output_for(session.get(), &input, 1, 0, &output), nullptr);
    EXPECT_EQ(output.rank, 2u);
    EXPECT_EQ(output.dims[0], rows);
    EXPECT_EQ(output.byte_size, static_cast<size_t>(rows) * 8 * sizeof(float));
    EXPECT_EQ(output.data, nullptr);
    if (rows == 1) first = output;
  }
  EXPECT_EQ(first.dims[0], 1) << "dimensions outlive what is loaded for them";
}

TEST(RuntimeShapesTest, RefusesShapesThatTheModelDoesNotHave) {
  const Session session = OpenSession();
  const int64_t wide[] = {2, 9};
  const int64_t none[] = {0, 8};
  const int64_t huge[] = {int64_t{1} << 60, 8};
  std::vector<float> data(32);
  for (const int64_t* const dims : {wide, none, huge}) {
    const plait_tensor input = Rows(dims, data.data());
    const plait_tensor output = Rows(dims, data.data());
    const Error error(plait_session_run(session.get(), &input, 1, &output, 1));
    EXPECT_EQ(plait_error_get_code(error.get()), PLAIT_ERROR_INVALID_ARGUMENT);
    EXPECT_THAT(Text(error), HasSubstr("input 0 ('x'): must be float32[N,8], is"));
  }
  plait_tensor output = PLAIT_TENSOR_INIT;
  const Error missing(plait_session_describe_output_for(session.get(), nullptr, 0, 0, &output));
  EXPECT_THAT(Text(missing), HasSubstr("the model has 1 inputs, given are 0"));
}

// Its outputs are still compared with what they have to be.
TEST(RuntimeShapesTest, RefusesOutputsOfAnotherShape) {
  const Session session = OpenSession();
  const int64_t three[] = {3, 8};
  const int64_t two[] = {2, 8};
  std::vector<float> data(24);
  const plait_tensor input = Rows(three, data.data());
  const plait_tensor output = Rows(two, data.data());
  const Error error(plait_session_run(session.get(), &input, 1, &output, 1));
  EXPECT_THAT(Text(error), HasSubstr("output 0 ('y'): must be float32[3,8]"));
}

TEST(RuntimeShapesTest, AShapeThatTheOptionsGiveStays) {
  plait_session_options options = PLAIT_SESSION_OPTIONS_INIT;
  const int64_t dims[] = {4, 8};
  plait_input_shape shape = PLAIT_INPUT_SHAPE_INIT;
  shape.name = "x";
  shape.dims = dims;
  shape.rank = 2;
  options.input_shapes = &shape;
  options.input_shape_count = 1;
  const Session session = OpenSession(options);
  ASSERT_NE(session, nullptr);
  plait_plan_info plan = PLAIT_PLAN_INFO_INIT;
  ASSERT_EQ(plait_session_get_plan(session.get(), &plan), nullptr);
  EXPECT_EQ(plan.reason, PLAIT_PLAN_FITS) << plan.explanation;
  EXPECT_EQ(plan.threads, 1);
  EXPECT_EQ(RunRows(session.get(), 4), nullptr);
  EXPECT_THAT(Text(RunRows(session.get(), 2)), HasSubstr("must be float32[4,8]"));
}

// Of a file that several machines have added to, whoever was the last.
TEST(RuntimeShapesTest, TakesThePlanOfThisDeviceAmongThoseOfOthers) {
  const auto executor = OpenCpu(1);
  const char* const other = executor->device().instruction_set == "avx2" ? "generic" : "avx2";
  const EmbeddedPlan theirs = PlanOfRows(4, executor->device(), [&](Plan* plan) {
    plan->device_fingerprint = absl::StrCat("cpu;_Theirs;_gcc;_", other, ";_threads=1");
  });
  const EmbeddedPlan own = PlanOfRows(4, executor->device());
  plait_session_options options = PLAIT_SESSION_OPTIONS_INIT;
  options.threads = 1;
  const auto reason_of = [&](const std::vector<EmbeddedPlan>& plans) {
    const Session session = OpenSession(options, plans);
    plait_plan_info plan = PLAIT_PLAN_INFO_INIT;
    if (session == nullptr || plait_session_get_plan(session.get(), &plan) != nullptr) return -1;
    return static_cast<int>(plan.reason);
  };
  EXPECT_EQ(reason_of({theirs, own}), PLAIT_PLAN_FITS);
  EXPECT_EQ(reason_of({own, theirs}), PLAIT_PLAN_FITS);
  EXPECT_EQ(reason_of({theirs}), PLAIT_PLAN_OTHER_DEVICE);
}

// One that is bound to other shapes is a plan of the file.
TEST(RuntimeShapesTest, APlanIsBoundToShapesThatNoneIsFor) {
  plait_session_options options = PLAIT_SESSION_OPTIONS_INIT;
  options.require_plan = 1;
  const Session session = OpenSession(options);
  ASSERT_NE(session, nullptr);
  for (const int64_t rows : {2, 4, 3, 1, 9}) {
    const Error error = RunRows(session.get(), rows);
    EXPECT_EQ(error, nullptr) << Text(error);
  }
}

TEST(RuntimeShapesTest, ASessionMayBeCreatedForShapesThatNoPlanIsFor) {
  plait_session_options options = PLAIT_SESSION_OPTIONS_INIT;
  const int64_t dims[] = {3, 8};
  plait_input_shape shape = PLAIT_INPUT_SHAPE_INIT;
  shape.name = "x";
  shape.dims = dims;
  shape.rank = 2;
  options.input_shapes = &shape;
  options.input_shape_count = 1;
  const Session session = OpenSession(options);
  ASSERT_NE(session, nullptr);
  plait_plan_info plan = PLAIT_PLAN_INFO_INIT;
  ASSERT_EQ(plait_session_get_plan(session.get(), &plan), nullptr);
  EXPECT_EQ(plan.source, PLAIT_PLAN_EMBEDDED);
  EXPECT_EQ(plan.reason, PLAIT_PLAN_OTHER_SHAPES);
  EXPECT_THAT(plan.explanation, HasSubstr("the plan in the model for x of [4,8] is used"));
  EXPECT_EQ(RunRows(session.get(), 3), nullptr);
}

TEST(RuntimeShapesTest, ANameThatOneInputSettlesHoldsForOthers) {
  const std::string model =
      GraphBytes(17, "g (float[N, 8] a, float[N, 8] b) => (float[N, 8] y) { y = Add(a, b) }");
  const auto executor = OpenCpu(1);
  const EmbeddedPlan plan = PlanOfShapes(model, {{"a", {2, 8}}, {"b", {2, 8}}}, executor->device());
  plait_session_options options = PLAIT_SESSION_OPTIONS_INIT;
  const int64_t dims[] = {5, 8};
  plait_input_shape shape = PLAIT_INPUT_SHAPE_INIT;
  shape.name = "a";
  shape.dims = dims;
  shape.rank = 2;
  options.input_shapes = &shape;
  options.input_shape_count = 1;
  const Session session = Created(ModelWithPlans(model, {plan}), options);
  ASSERT_NE(session, nullptr);
  plait_plan_info info = PLAIT_PLAN_INFO_INIT;
  ASSERT_EQ(plait_session_get_plan(session.get(), &info), nullptr);
  EXPECT_EQ(info.reason, PLAIT_PLAN_OTHER_SHAPES) << info.explanation;
}

TEST(RuntimeShapesTest, OutputsThatAPlanJoinsKeepTheirNames) {
  const std::string model = GraphBytes(
      17, "g (float[2, 8] x) => (float[2, 8] y, float[2, 8] z) { y = Neg(x) z = Neg(x) }");
  const Graph joined = *ParseTypedGraph(R"(graph {
  input %x: float32[2,8]
  %y = Neg(%x)
  output %y, %y
})");
  const Graph original = Bind(*ImportOnnx(model), {})->graph;
  const auto executor = OpenCpu(1);
  plait_session_options options = PLAIT_SESSION_OPTIONS_INIT;
  options.require_plan = 1;
  options.threads = 1;
  const Session session =
      Created(ModelWithPlans(model, {PlanOfGraph(joined, original, executor->device())}), options);
  ASSERT_NE(session, nullptr);
  EXPECT_STREQ(plait_session_output_name(session.get(), 0), "y");
  EXPECT_STREQ(plait_session_output_name(session.get(), 1), "z");
}

TEST(RuntimeShapesTest, ARequiredPlanIsRequiredOfEachShape) {
  plait_session_options options = PLAIT_SESSION_OPTIONS_INIT;
  options.require_plan = 1;
  const auto executor = OpenCpu(1);
  EmbeddedPlan plan = PlanOfRows(2, executor->device());
  plan.rewrites = "piece nodes=[0]\n";  // of another model
  const Session session = OpenSession(options, {plan});
  EXPECT_EQ(RunRows(session.get(), 2), nullptr);
  const Error error = RunRows(session.get(), 3);
  EXPECT_EQ(plait_error_get_code(error.get()), PLAIT_ERROR_FAILED_PRECONDITION);
  EXPECT_THAT(Text(error), HasSubstr("its rewrites are for another graph"));
}

// A session of OpenImages with a plan for one image of 8 by 8.
Session CreatedOfImages() {
  static const std::string model = ModelWithPlans(
      OpenImages(), {PlanOfShapes(OpenImages(), {{"x", {1, 3, 8, 8}}}, OpenCpu(2)->device())});
  plait_session_options options = PLAIT_SESSION_OPTIONS_INIT;
  options.require_plan = 1;
  return Created(model, options);
}

struct ImagesShape {
  int64_t images;
  int64_t height;
  int64_t width;
};

// Both outputs for images of these numbers, repeated.
std::vector<float> RunImages(plait_session* session, const ImagesShape& shape,
                             const std::vector<float>& numbers) {
  const auto& [images, height, width] = shape;
  const int64_t in[] = {images, 3, height, width};
  const int64_t whole[] = {images, 4, height, width};
  const int64_t half[] = {images, 4, (height + 1) / 2, (width + 1) / 2};
  const auto tensor = [](const int64_t(&dims)[4], float* data) {
    plait_tensor described = Rows(dims, data);
    described.rank = 4;
    described.byte_size *= static_cast<size_t>(dims[2] * dims[3]);
    return described;
  };
  std::vector<float> x;
  for (int64_t i = 0; i < images * 3 * height * width; ++i) {
    x.push_back(numbers[static_cast<size_t>(i) % numbers.size()]);
  }
  const auto whole_size = static_cast<size_t>(images * 4 * height * width);
  std::vector<float> outputs(whole_size + static_cast<size_t>(images * 4 * half[2] * half[3]));
  const plait_tensor input = tensor(in, x.data());
  const plait_tensor both[] = {tensor(whole, outputs.data()),
                               tensor(half, outputs.data() + whole_size)};
  const Error error(plait_session_run(session, &input, 1, both, 2));
  EXPECT_EQ(error, nullptr) << Text(error);
  return outputs;
}

// Shapes have the memory of activations in common: padding is zero and no number is left over,
// whichever of them ran before, and whatever it computed.
TEST(RuntimeShapesTest, NoBitDependsOnTheShapeBefore) {
  const Session session = CreatedOfImages();
  ASSERT_NE(session, nullptr);
  const std::vector<float> numbers = {0.25f, -1.5f, 3.0f, 0.125f, -0.75f, 2.5f, -4.0f};
  const std::vector<float> nans = {std::numeric_limits<float>::quiet_NaN()};
  const ImagesShape shapes[] = {{1, 8, 8}, {2, 19, 23}, {1, 8, 8},   {3, 5, 31}, {1, 1, 1},
                                {1, 8, 9}, {2, 19, 23}, {4, 33, 40}, {1, 8, 8},  {3, 5, 31}};
  for (const ImagesShape& shape : shapes) {
    const std::vector<float> expected = RunImages(CreatedOfImages().get(), shape, numbers);
    for (int run = 0; run < 2; ++run) {
      EXPECT_EQ(RunImages(session.get(), shape, numbers), expected)
          << shape.images << " of " << shape.height << " by " << shape.width;
      RunImages(session.get(), {2, 24, 24}, nans);
    }
  }
}

TEST(RuntimeShapesTest, BoundBuffersStayWhereOtherShapesRun) {
  const Session session = OpenSession();
  ASSERT_NE(session, nullptr);
  plait_tensor input = PLAIT_TENSOR_INIT;
  plait_tensor output = PLAIT_TENSOR_INIT;
  ASSERT_EQ(plait_session_bound_input(session.get(), 0, &input), nullptr);
  ASSERT_EQ(plait_session_bound_output(session.get(), 0, &output), nullptr);
  std::fill_n(static_cast<float*>(input.data), 16, 2.0f);
  for (const int64_t rows : {1, 9, 3}) EXPECT_EQ(RunRows(session.get(), rows), nullptr);
  ASSERT_EQ(plait_session_run_bound(session.get()), nullptr);
  EXPECT_EQ(static_cast<const float*>(output.data)[8], 448.0f);
}

// As a cache that grows with each run does.
TEST(RuntimeShapesTest, TheLastOutputMayBeAnInputOfAnotherShape) {
  const Session session = OpenSession();
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(RunRows(session.get(), 5), nullptr);
  plait_tensor last = PLAIT_TENSOR_INIT;
  ASSERT_EQ(plait_session_last_output(session.get(), 0, &last), nullptr);
  const int64_t dims[] = {3, 8};
  const plait_tensor input = Rows(dims, last.data);
  std::vector<float> y(24);
  const plait_tensor output = Rows(dims, y.data());
  ASSERT_EQ(plait_session_run(session.get(), &input, 1, &output, 1), nullptr);
  // Rows of 224, 232, ..., 280 times the columns 0, 8, ... and 1, 9, ...
  float expected[2] = {0, 0};
  for (int i = 0; i < 8; ++i) {
    const float left = 224.0f + 8 * static_cast<float>(i);
    expected[0] += left * static_cast<float>(8 * i);
    expected[1] += left * static_cast<float>(8 * i + 1);
  }
  EXPECT_EQ(y[16], expected[0]);
  EXPECT_EQ(y[17], expected[1]);
}

TEST(RuntimeShapesTest, ShapesMayBeRunFromSeveralThreads) {
  const Session session = OpenSession();
  std::vector<std::jthread> threads;
  std::vector<int> failed(4);
  for (size_t thread = 0; thread < failed.size(); ++thread) {
    threads.emplace_back([&, thread] {
      for (int64_t run = 0; run < 250; ++run) {
        const int64_t rows = 1 + (run * 7 + static_cast<int64_t>(thread)) % 20;
        if (RunRows(session.get(), rows) != nullptr) ++failed[thread];
      }
    });
  }
  threads.clear();
  EXPECT_THAT(failed, Each(0));
}

}  // namespace
}  // namespace plait
