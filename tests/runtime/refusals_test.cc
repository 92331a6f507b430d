#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plait/runtime.h"
#include "tests/optimizer/onnx/model_text.h"
#include "tests/runtime/product_model.h"
#include "tests/runtime/session.h"

// Models, options and tensors that no session takes, and what their errors say.

namespace plait {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The error of a model or of options that no session can be made of.
void ExpectRefused(const std::string& model, const plait_session_options& options, int32_t code,
                   const std::string& text) {
  Session session;
  const Error error = Create(model, &options, &session);
  ASSERT_NE(error, nullptr);
  EXPECT_EQ(session, nullptr);
  EXPECT_EQ(plait_error_get_code(error.get()), code) << Text(error);
  EXPECT_THAT(Text(error), HasSubstr(text));
}

TEST(RuntimeTest, RefusesTensorsThatAreNotTheModels) {
  const Session session = Created(ProductModel(64));
  ASSERT_NE(session, nullptr);
  const std::vector<float> x = Numbers(128, 0);
  std::vector<float> y(128, 7);
  const plait_tensor input = Input(session.get(), x.data());
  const plait_tensor output = Output(session.get(), y.data());
  const auto expect = [&](plait_tensor in, plait_tensor out, const std::string& text) {
    const Error error(plait_session_run(session.get(), &in, 1, &out, 1));
    EXPECT_EQ(plait_error_get_code(error.get()), PLAIT_ERROR_INVALID_ARGUMENT);
    EXPECT_THAT(Text(error), HasSubstr(text));
  };
  plait_tensor wrong = input;
  wrong.element_type = PLAIT_ELEMENT_FLOAT64;
  expect(wrong, output, "input 0 ('x'): must be float32[2,64], is of element type 11");
  wrong = input;
  wrong.rank = 3;
  expect(wrong, output, "is of rank 3");
  const int64_t dims[] = {64, 2};
  wrong = input;
  wrong.dims = dims;
  expect(wrong, output, "must be float32[2,64], is of element type 1 and [64,2]");
  wrong = input;
  wrong.byte_size = 4;
  expect(wrong, output, "byte_size must be 512, is 4");
  wrong = output;
  wrong.data = nullptr;
  expect(input, wrong, "output 0 ('y'): data: must not be NULL");
  wrong = output;
  wrong.memory_kind = 1;
  expect(input, wrong, "memory kind 1 is not known");
  wrong = input;
  wrong.struct_size = 8;
  expect(wrong, output, "struct_size is 8");
  const Error none(plait_session_run(session.get(), &input, 1, nullptr, 0));
  EXPECT_THAT(Text(none), HasSubstr("the model has 1 outputs, given are 0"));
  EXPECT_EQ(y, std::vector<float>(128, 7));
}

TEST(RuntimeTest, NamesTheOperatorThatItDoesNotKnow) {
  const std::string model =
      GraphBytes(13, "g (float[2] x) => (float[2] y) { y = Relu(x) }", [](onnx::ModelProto* proto) {
        onnx::NodeProto* const node = proto->mutable_graph()->mutable_node(0);
        node->set_name("strange");
        node->set_op_type("Frobnicate");
        node->set_domain("com.example");
        onnx::OperatorSetIdProto* const domain = proto->add_opset_import();
        domain->set_domain("com.example");
        domain->set_version(1);
      });
  ExpectRefused(model, PLAIT_SESSION_OPTIONS_INIT, PLAIT_ERROR_UNSUPPORTED,
                "node strange: Frobnicate cannot be run");
}

TEST(RuntimeTest, NamesTheDimensionThatIsMissing) {
  const std::string model = GraphBytes(
      13, "g (float[length,4] x, float[length,4] z) => (float[length,4] y) { y = Add(x, z) }");
  ExpectRefused(model, PLAIT_SESSION_OPTIONS_INIT, PLAIT_ERROR_INVALID_ARGUMENT,
                "input 'x': dimension 0 ('length') of float32[length,4] is not known (give the "
                "input's shape in the option input_shapes)");
  const int64_t dims[] = {3, 4};
  plait_input_shape shape = PLAIT_INPUT_SHAPE_INIT;
  shape.name = "z";
  shape.dims = dims;
  shape.rank = 2;
  plait_session_options options = PLAIT_SESSION_OPTIONS_INIT;
  options.input_shapes = &shape;
  options.input_shape_count = 1;
  const Session session = Created(model, options);
  ASSERT_NE(session, nullptr);
  plait_tensor tensor = PLAIT_TENSOR_INIT;
  ASSERT_EQ(plait_session_describe_input(session.get(), 0, &tensor), nullptr);
  EXPECT_THAT(std::vector<int64_t>(tensor.dims, tensor.dims + tensor.rank), ElementsAre(3, 4));
  shape.name = "typo";
  ExpectRefused(model, options, PLAIT_ERROR_INVALID_ARGUMENT, "is not known");
}

TEST(RuntimeTest, ABatchThatNothingGivesIsOneUntilARunSaysMore) {
  const Session session =
      Created(GraphBytes(13, "g (float[batch,4] x) => (float[batch,4] y) { y = Relu(x) }"),
              PLAIT_SESSION_OPTIONS_INIT);
  ASSERT_NE(session, nullptr);
  plait_tensor tensor = PLAIT_TENSOR_INIT;
  ASSERT_EQ(plait_session_describe_input(session.get(), 0, &tensor), nullptr);
  EXPECT_THAT(std::vector<int64_t>(tensor.dims, tensor.dims + tensor.rank), ElementsAre(1, 4));
}

TEST(RuntimeTest, RefusesWhatItCannotDo) {
  const std::string model = ProductModel(8);
  plait_session_options options = PLAIT_SESSION_OPTIONS_INIT;
  options.device = "cuda:0";
  ExpectRefused(model, options, PLAIT_ERROR_UNSUPPORTED, "device \"cuda:0\": this version");
  options.device = "abacus";
  ExpectRefused(model, options, PLAIT_ERROR_NOT_FOUND, "device \"abacus\": there is no such");
  options = PLAIT_SESSION_OPTIONS_INIT;
  options.threads = -1;
  ExpectRefused(model, options, PLAIT_ERROR_INVALID_ARGUMENT, "threads: must be from 0");
  options = PLAIT_SESSION_OPTIONS_INIT;
  options.require_plan = 1;
  ExpectRefused(model, options, PLAIT_ERROR_FAILED_PRECONDITION, "there is no plan in the model");
  options = PLAIT_SESSION_OPTIONS_INIT;
  options.struct_size = 4;
  ExpectRefused(model, options, PLAIT_ERROR_INVALID_ARGUMENT, "options: struct_size is 4");
  options = PLAIT_SESSION_OPTIONS_INIT;
  ExpectRefused("no model", options, PLAIT_ERROR_INVALID_ARGUMENT, "");
  plait_session* session = nullptr;
  const Error missing(plait_session_create_from_file("/nowhere/a.onnx", nullptr, &session));
  EXPECT_EQ(plait_error_get_code(missing.get()), PLAIT_ERROR_NOT_FOUND);
  EXPECT_THAT(Text(missing), HasSubstr("/nowhere/a.onnx"));
}

TEST(RuntimeTest, TakesNullWhereItMay) {
  plait_error_destroy(nullptr);
  plait_session_destroy(nullptr);
  EXPECT_EQ(plait_error_get_code(nullptr), 0);
  EXPECT_STREQ(plait_error_message(nullptr), "");
  EXPECT_EQ(plait_session_input_count(nullptr), 0u);
  EXPECT_EQ(plait_session_output_name(nullptr, 0), nullptr);
  const Error no_path(plait_session_create_from_file(nullptr, nullptr, nullptr));
  EXPECT_THAT(Text(no_path), HasSubstr("path: must not be NULL"));
  const Error no_session(plait_session_run_bound(nullptr));
  EXPECT_EQ(plait_error_get_code(no_session.get()), PLAIT_ERROR_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace plait
