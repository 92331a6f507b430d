#include "plait/runtime.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "onnx/shape_inference/implementation.h"
#include "tests/optimizer/onnx/model_text.h"

// An application as users have them: it knows the public header alone, and links a protobuf and an
// onnx of its own, which make the models.

namespace {
thread_local bool g_next_allocation_fails = false;
}  // namespace

// The library's allocations too: it has no allocator of its own.
void* operator new(size_t size) {
  if (std::exchange(g_next_allocation_fails, false)) throw std::bad_alloc();
  void* const memory = std::malloc(std::max<size_t>(size, 1));
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t /*size*/) noexcept { std::free(memory); }

namespace plait {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct ErrorDeleter {
  void operator()(plait_error* error) const { plait_error_destroy(error); }
};
struct SessionDeleter {
  void operator()(plait_session* session) const { plait_session_destroy(session); }
};
using Error = std::unique_ptr<plait_error, ErrorDeleter>;
using Session = std::unique_ptr<plait_session, SessionDeleter>;

std::string Text(const Error& error) { return plait_error_message(error.get()); }

Error Create(const std::string& model, const plait_session_options* options, Session* session) {
  plait_session* created = nullptr;
  Error error(plait_session_create_from_memory(model.data(), model.size(), options, &created));
  session->reset(created);
  return error;
}

Session Created(const std::string& model, plait_session_options options) {
  Session session;
  const Error error = Create(model, &options, &session);
  EXPECT_EQ(error, nullptr) << Text(error);
  return session;
}

Session Created(const std::string& model) { return Created(model, PLAIT_SESSION_OPTIONS_INIT); }

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

// y = relu(x w): every number is small and exact. w is [width, width], all ones below the diagonal.
std::string ProductModel(int64_t width) {
  const std::string x = std::to_string(width);
  return GraphBytes(13, "g (float[2," + x + "] x) => (float[2," + x + R"(] y) {
      p = MatMul(x, w)
      y = Relu(p)
    })",
                    [&](onnx::ModelProto* model) {
                      onnx::TensorProto* const w = model->mutable_graph()->add_initializer();
                      w->set_name("w");
                      w->set_data_type(onnx::TensorProto::FLOAT);
                      w->add_dims(width);
                      w->add_dims(width);
                      for (int64_t i = 0; i < width * width; ++i) {
                        w->add_float_data(i % width <= i / width ? 1.0f : 0.0f);
                      }
                    });
}

// What ProductModel makes of it: column c of a row is the sum of the elements from c on.
std::vector<float> Product(const std::vector<float>& x, size_t width) {
  std::vector<float> y(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    float sum = 0;
    for (size_t k = i; k < (i / width + 1) * width; ++k) sum += x[k];
    y[i] = std::max(sum, 0.0f);
  }
  return y;
}

std::vector<float> Numbers(size_t count, int seed) {
  std::vector<float> numbers(count);
  for (size_t i = 0; i < count; ++i) {
    numbers[i] = static_cast<float>((i * 7 + static_cast<size_t>(seed) * 13) % 17) - 6;
  }
  return numbers;
}

plait_tensor Input(plait_session* session, const void* data) {
  plait_tensor tensor = PLAIT_TENSOR_INIT;
  EXPECT_EQ(plait_session_describe_input(session, 0, &tensor), nullptr);
  tensor.data = const_cast<void*>(data);
  return tensor;
}

plait_tensor Output(plait_session* session, void* data) {
  plait_tensor tensor = PLAIT_TENSOR_INIT;
  EXPECT_EQ(plait_session_describe_output(session, 0, &tensor), nullptr);
  tensor.data = data;
  return tensor;
}

Error RunOn(plait_session* session, const std::vector<float>& x, std::vector<float>* y) {
  const plait_tensor input = Input(session, x.data());
  const plait_tensor output = Output(session, y->data());
  return Error(plait_session_run(session, &input, 1, &output, 1));
}

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

// A program in C could not catch what the standard library throws.
TEST(RuntimeTest, WithoutMemoryACallIsAnError) {
  const std::string model = ProductModel(64);
  Session session;
  g_next_allocation_fails = true;
  Error error = Create(model, nullptr, &session);
  ASSERT_NE(error, nullptr);
  EXPECT_EQ(plait_error_get_code(error.get()), PLAIT_ERROR_RESOURCE_EXHAUSTED);
  session = Created(model);
  const std::vector<float> x = Numbers(128, 0);
  std::vector<float> y(128);
  const plait_tensor input = Input(session.get(), x.data());
  const plait_tensor output = Output(session.get(), y.data());
  g_next_allocation_fails = true;
  error.reset(plait_session_run(session.get(), &input, 1, &output, 1));
  EXPECT_EQ(error == nullptr, g_next_allocation_fails) << Text(error);
  g_next_allocation_fails = false;
  error.reset(plait_session_run(session.get(), &input, 1, &output, 1));
  EXPECT_EQ(error, nullptr) << Text(error);
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

// Every thread runs both sessions, and one makes a third one meanwhile.
TEST(RuntimeTest, RunsFromSeveralThreadsAtTheSameTime) {
  const std::string model = ProductModel(256);
  plait_session_options narrow = PLAIT_SESSION_OPTIONS_INIT;
  narrow.threads = 1;
  const Session sessions[] = {Created(model), Created(model, narrow)};
  std::atomic<int> wrong = 0;
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (int run = 0; run < 50; ++run) {
        const std::vector<float> x = Numbers(512, thread * 50 + run);
        std::vector<float> y(512);
        const Error error = RunOn(sessions[run % 2].get(), x, &y);
        if (error != nullptr || y != Product(x, 256)) ++wrong;
      }
    });
  }
  EXPECT_NE(Created(ProductModel(32)), nullptr);
  threads.clear();
  EXPECT_EQ(wrong, 0);
}

int ThreadsOfThisProcess() {
  int threads = 0;
  for ([[maybe_unused]] const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    ++threads;
  }
  return threads;
}

TEST(RuntimeTest, SessionsShareTheirThreads) {
  const int before = ThreadsOfThisProcess();
  std::vector<Session> sessions;
  for (int i = 0; i < 3; ++i) sessions.push_back(Created(ProductModel(256)));
  std::vector<float> y(512);
  for (const Session& session : sessions)
    EXPECT_EQ(RunOn(session.get(), Numbers(512, 1), &y), nullptr);
  EXPECT_LE(ThreadsOfThisProcess(), before + static_cast<int>(std::thread::hardware_concurrency()));
}

// In the child nothing may wait: the threads that others would be woken by are the parent's.
TEST(RuntimeTest, AForkedChildGetsAnError) {
  const std::string model = ProductModel(256);
  const Session session = Created(model);
  ASSERT_NE(session, nullptr);
  std::vector<float> y(512);
  ASSERT_EQ(RunOn(session.get(), Numbers(512, 1), &y), nullptr);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(20);
    const Error run = RunOn(session.get(), Numbers(512, 1), &y);
    plait_session* other = nullptr;
    const Error created(
        plait_session_create_from_memory(model.data(), model.size(), nullptr, &other));
    const Error bound(plait_session_run_bound(session.get()));
    const bool is_right = plait_error_get_code(run.get()) == PLAIT_ERROR_FORKED &&
                          plait_error_get_code(created.get()) == PLAIT_ERROR_FORKED &&
                          plait_error_get_code(bound.get()) == PLAIT_ERROR_FORKED &&
                          Text(run).find("forked") != std::string::npos;
    plait_session_destroy(session.get());
    _exit(is_right ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(RunOn(session.get(), Numbers(512, 2), &y), nullptr);
  EXPECT_EQ(y, Product(Numbers(512, 2), 256));
}

// This program's own onnx and protobuf, before and after plait has used what it brings along.
TEST(RuntimeTest, LeavesTheProgramsOnnxAlone) {
  const std::string model = ProductModel(16);
  for (int repeat = 0; repeat < 2; ++repeat) {
    onnx::ModelProto proto;
    ASSERT_TRUE(proto.ParseFromString(model));
    onnx::shape_inference::InferShapes(proto);
    EXPECT_THAT(proto.DebugString(), HasSubstr("op_type: \"MatMul\""));
    const Session session = Created(proto.SerializeAsString());
    ASSERT_NE(session, nullptr);
    std::vector<float> y(32);
    EXPECT_EQ(RunOn(session.get(), Numbers(32, 3), &y), nullptr);
    EXPECT_EQ(y, Product(Numbers(32, 3), 16));
  }
}

}  // namespace
}  // namespace plait
