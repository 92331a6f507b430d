#include "plait/runtime.h"

#include <cstring>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/optimizer/onnx/model_text.h"
#include "tests/runtime/product_model.h"
#include "tests/runtime/session.h"

// An application as users have them: it knows the public header alone, and links a protobuf and an
// onnx of its own, which make the models.

namespace plait {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(RuntimeTest, SaysItsVersions) {
  EXPECT_EQ(plait_abi_version(), PLAIT_RUNTIME_ABI_VERSION);
  EXPECT_THAT(plait_version(), testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
}

TEST(RuntimeTest, DescribesInputsAndOutputs) {
  const Session session =
      Created(GraphBytes(13,
                         "g (float[1,3,4,4] image, int64[2] indices) => (float[1,2,4,4] picked) "
                         "{ picked = Gather<axis = 1>(image, indices) }"));
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(plait_session_input_count(session.get()), 2u);
  EXPECT_EQ(plait_session_output_count(session.get()), 1u);
  EXPECT_STREQ(plait_session_input_name(session.get(), 0), "image");
  EXPECT_STREQ(plait_session_input_name(session.get(), 1), "indices");
  EXPECT_EQ(plait_session_input_name(session.get(), 2), nullptr);
  EXPECT_STREQ(plait_session_output_name(session.get(), 0), "picked");
  plait_tensor tensor = PLAIT_TENSOR_INIT;
  ASSERT_EQ(plait_session_describe_input(session.get(), 1, &tensor), nullptr);
  EXPECT_EQ(tensor.element_type, PLAIT_ELEMENT_INT64);
  EXPECT_EQ(tensor.rank, 1u);
  EXPECT_EQ(tensor.byte_size, 16u);
  EXPECT_EQ(tensor.data, nullptr);
  ASSERT_EQ(plait_session_describe_output(session.get(), 0, &tensor), nullptr);
  EXPECT_EQ(tensor.element_type, PLAIT_ELEMENT_FLOAT32);
  EXPECT_THAT(std::vector<int64_t>(tensor.dims, tensor.dims + tensor.rank),
              ElementsAre(1, 2, 4, 4));
  const Error error(plait_session_describe_output(session.get(), 1, &tensor));
  EXPECT_EQ(plait_error_get_code(error.get()), PLAIT_ERROR_INVALID_ARGUMENT);
}

TEST(RuntimeTest, RunsOnTheCallersBuffers) {
  const Session session = Created(ProductModel(64));
  ASSERT_NE(session, nullptr);
  for (int seed = 0; seed < 3; ++seed) {
    const std::vector<float> x = Numbers(128, seed);
    std::vector<float> y(128);
    const Error error = RunOn(session.get(), x, &y);
    EXPECT_EQ(error, nullptr) << Text(error);
    EXPECT_EQ(y, Product(x, 64));
  }
}

TEST(RuntimeTest, RunsOnItsOwnBuffers) {
  const Session session = Created(ProductModel(64));
  ASSERT_NE(session, nullptr);
  plait_tensor input = PLAIT_TENSOR_INIT;
  plait_tensor output = PLAIT_TENSOR_INIT;
  ASSERT_EQ(plait_session_bound_input(session.get(), 0, &input), nullptr);
  ASSERT_EQ(plait_session_bound_output(session.get(), 0, &output), nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(input.data) % 64, 0u);
  ASSERT_EQ(input.byte_size, 128 * sizeof(float));
  const std::vector<float> x = Numbers(128, 5);
  std::memcpy(input.data, x.data(), input.byte_size);
  // Inputs stay for a second run.
  for (int run = 0; run < 2; ++run) {
    std::memset(output.data, 0xff, output.byte_size);
    ASSERT_EQ(plait_session_run_bound(session.get()), nullptr);
    const auto* const y = static_cast<const float*>(output.data);
    EXPECT_EQ(std::vector<float>(y, y + 128), Product(x, 64));
  }
}

// Copies are made in pieces, by all threads; one buffer is the session's own.
TEST(RuntimeTest, CopiesLargeTensorsWhole) {
  constexpr int64_t kCount = 100003;
  plait_session_options options = PLAIT_SESSION_OPTIONS_INIT;
  options.threads = 2;
  const Session session =
      Created(GraphBytes(13, R"(g (float[100003] a, float[100003] b) => (float[100003] sum) {
        sum = Add(a, b)
      })"),
              options);
  ASSERT_NE(session, nullptr);
  std::vector<float> a = Numbers(kCount, 5);
  std::vector<float> sum(kCount + 1, -1);
  plait_tensor inputs[] = {PLAIT_TENSOR_INIT, PLAIT_TENSOR_INIT};
  plait_tensor output = PLAIT_TENSOR_INIT;
  ASSERT_EQ(plait_session_describe_input(session.get(), 0, &inputs[0]), nullptr);
  ASSERT_EQ(plait_session_bound_input(session.get(), 1, &inputs[1]), nullptr);
  ASSERT_EQ(plait_session_describe_output(session.get(), 0, &output), nullptr);
  inputs[0].data = a.data();
  output.data = sum.data();
  auto* const b = static_cast<float*>(inputs[1].data);
  for (int64_t i = 0; i < kCount; ++i) b[i] = static_cast<float>(i);
  ASSERT_EQ(plait_session_run(session.get(), inputs, 2, &output, 1), nullptr);
  for (int64_t i = 0; i < kCount; ++i) ASSERT_EQ(sum[i], a[i] + b[i]) << i;
  EXPECT_EQ(sum[kCount], -1);
}

// An input that nothing reads, one that is an output too, a constant output, and one without bytes.
TEST(RuntimeTest, RunsModelsWhoseInputsAndOutputsAreOdd) {
  const Session session =
      Created(GraphBytes(13, R"(g (float[3] x, float[2] unread, float[0,4] empty)
          => (float[3] x, float[3] y, float[0,4] none, float[3] constant) {
        constant = Constant<value = float[3] {1.0, 2.0, 3.0}>()
        y = Neg(x)
        none = Neg(empty)
      })"));
  ASSERT_NE(session, nullptr);
  float x[] = {1, -2, 3};
  float unread[] = {0, 0};
  float out[3][3] = {};
  const void* const sources[] = {x, unread, nullptr};
  void* const targets[] = {out[0], out[1], nullptr, out[2]};
  std::vector<plait_tensor> inputs(3, plait_tensor PLAIT_TENSOR_INIT);
  std::vector<plait_tensor> outputs(4, plait_tensor PLAIT_TENSOR_INIT);
  for (size_t i = 0; i < 3; ++i) {
    ASSERT_EQ(plait_session_describe_input(session.get(), i, &inputs[i]), nullptr);
    inputs[i].data = const_cast<void*>(sources[i]);
    plait_tensor bound = PLAIT_TENSOR_INIT;
    ASSERT_EQ(plait_session_bound_input(session.get(), i, &bound), nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(bound.data) % 64, 0u) << i;
  }
  for (size_t i = 0; i < 4; ++i) {
    ASSERT_EQ(plait_session_describe_output(session.get(), i, &outputs[i]), nullptr);
    outputs[i].data = targets[i];
  }
  const Error error(plait_session_run(session.get(), inputs.data(), 3, outputs.data(), 4));
  ASSERT_EQ(error, nullptr) << Text(error);
  EXPECT_THAT(out[0], ElementsAre(1, -2, 3));
  EXPECT_THAT(out[1], ElementsAre(-1, 2, -3));
  EXPECT_THAT(out[2], ElementsAre(1, 2, 3));
}

// A caller that was compiled when the structs had more fields at the end, and one with fewer than
// this library knows, which sees nothing written behind what it has.
TEST(RuntimeTest, TakesStructsOfAnySize) {
  struct LargerTensor {
    plait_tensor tensor;
    int64_t more = 0;
  };
  const Session session =
      Created(GraphBytes(13, "g (float[2] a, float[2] b) => (float[2] y) { y = Sub(a, b) }"));
  ASSERT_NE(session, nullptr);
  float a[] = {5, 6};
  float b[] = {1, 4};
  float y[2] = {};
  LargerTensor inputs[2];
  for (size_t i = 0; i < 2; ++i) {
    inputs[i].tensor = PLAIT_TENSOR_INIT;
    inputs[i].tensor.struct_size = sizeof(LargerTensor);
    inputs[i].more = 77;
    ASSERT_EQ(plait_session_describe_input(session.get(), i, &inputs[i].tensor), nullptr);
    EXPECT_EQ(inputs[i].tensor.struct_size, sizeof(LargerTensor));
    EXPECT_EQ(inputs[i].more, 77);
  }
  inputs[0].tensor.data = a;
  inputs[1].tensor.data = b;
  const plait_tensor output = Output(session.get(), y);
  const Error error(plait_session_run(session.get(), &inputs[0].tensor, 2, &output, 1));
  ASSERT_EQ(error, nullptr) << Text(error);
  EXPECT_THAT(y, ElementsAre(4, 2));
}

TEST(RuntimeTest, SaysWhichPlanItUsesAndWhy) {
  const Session session = Created(ProductModel(64));
  ASSERT_NE(session, nullptr);
  plait_plan_info plan = PLAIT_PLAN_INFO_INIT;
  ASSERT_EQ(plait_session_get_plan(session.get(), &plan), nullptr);
  EXPECT_EQ(plan.source, PLAIT_PLAN_DEFAULT);
  EXPECT_EQ(plan.reason, PLAIT_PLAN_NOT_IN_MODEL);
  EXPECT_THAT(plan.explanation,
              AllOf(HasSubstr("there is no plan in the model"), HasSubstr("plait optimize")));
  EXPECT_GE(plan.threads, 1);
  // The Relu is part of the product's kernel.
  EXPECT_EQ(plan.kernels, 1);
  EXPECT_EQ(plan.reference_nodes, 0);
}

TEST(RuntimeTest, NamesWhatRunsAsReferenceCode) {
  const Session session = Created(GraphBytes(
      13, "g (double[2,2] x) => (double[2,2] y) { p = MatMul(x, x) q = MatMul(p, x) y = Neg(q) }"));
  ASSERT_NE(session, nullptr);
  plait_plan_info plan = PLAIT_PLAN_INFO_INIT;
  ASSERT_EQ(plait_session_get_plan(session.get(), &plan), nullptr);
  EXPECT_EQ(plan.reference_nodes, 3);
  EXPECT_THAT(plan.explanation, HasSubstr("; 3 nodes run as slow reference code (MatMul, Neg)"));
}

TEST(RuntimeTest, IgnoresAPlanThatIsNone) {
  const std::string model =
      GraphBytes(13, "g (float[2] x) => (float[2] y) { y = Relu(x) }", [](onnx::ModelProto* proto) {
        for (const char* const key : {"plait.plan", "plait.graph", "plait.version"}) {
          onnx::StringStringEntryProto* const entry = proto->add_metadata_props();
          entry->set_key(key);
          entry->set_value(std::string(key) == "plait.version"
                               ? std::string("plait-") + plait_version()
                               : "hostile {");
        }
      });
  const Session session = Created(model);
  ASSERT_NE(session, nullptr);
  plait_plan_info plan = PLAIT_PLAN_INFO_INIT;
  ASSERT_EQ(plait_session_get_plan(session.get(), &plan), nullptr);
  EXPECT_EQ(plan.source, PLAIT_PLAN_DEFAULT);
  EXPECT_EQ(plan.reason, PLAIT_PLAN_INVALID);
  EXPECT_THAT(plan.explanation, HasSubstr("the plan in the model is ignored: "));
}

}  // namespace
}  // namespace plait
