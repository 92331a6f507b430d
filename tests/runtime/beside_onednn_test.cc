#include <atomic>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "oneapi/dnnl/dnnl.h"
#include "plait/runtime.h"
#include "tests/optimizer/onnx/model_text.h"

// A program with an OpenMP and a oneDNN of its own, which come before those of any library by their
// names, in the process as in this file's link.

extern "C" void GOMP_parallel(void (*run)(void*), void* data, unsigned threads, unsigned flags);

namespace plait {
namespace {

using ::testing::HasSubstr;

constexpr int kHostThreads = 3;

// What the compiler makes of `#pragma omp parallel`.
int ThreadsOfAHostRegion() {
  std::atomic<int> threads = 0;
  GOMP_parallel([](void* data) { ++*static_cast<std::atomic<int>*>(data); }, &threads, kHostThreads,
                0);
  return threads;
}

// A copy of 4 MiB into another order, by the program's oneDNN.
void RunHostOnednn() {
  dnnl_engine_t engine = nullptr;
  dnnl_stream_t stream = nullptr;
  ASSERT_EQ(dnnl_engine_create(&engine, dnnl_cpu, 0), dnnl_success);
  ASSERT_EQ(dnnl_stream_create(&stream, engine, dnnl_stream_default_flags), dnnl_success);
  const dnnl_dims_t shape = {64, 64, 16, 16};
  dnnl_memory_desc_t from, to;
  ASSERT_EQ(dnnl_memory_desc_init_by_tag(&from, 4, shape, dnnl_f32, dnnl_nchw), dnnl_success);
  ASSERT_EQ(dnnl_memory_desc_init_by_tag(&to, 4, shape, dnnl_f32, dnnl_nhwc), dnnl_success);
  dnnl_primitive_desc_t descriptor = nullptr;
  ASSERT_EQ(dnnl_reorder_primitive_desc_create(&descriptor, &from, engine, &to, engine, nullptr),
            dnnl_success);
  dnnl_primitive_t primitive = nullptr;
  ASSERT_EQ(dnnl_primitive_create(&primitive, descriptor), dnnl_success);
  std::vector<float> source(size_t{64} * 64 * 16 * 16, 3.0f);
  std::vector<float> target(source.size());
  dnnl_memory_t source_memory = nullptr;
  dnnl_memory_t target_memory = nullptr;
  ASSERT_EQ(dnnl_memory_create(&source_memory, &from, engine, source.data()), dnnl_success);
  ASSERT_EQ(dnnl_memory_create(&target_memory, &to, engine, target.data()), dnnl_success);
  const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_FROM, source_memory},
                                       {DNNL_ARG_TO, target_memory}};
  EXPECT_EQ(dnnl_primitive_execute(primitive, stream, 2, arguments), dnnl_success);
  EXPECT_EQ(target, source);
  dnnl_memory_destroy(source_memory);
  dnnl_memory_destroy(target_memory);
  dnnl_primitive_destroy(primitive);
  dnnl_primitive_desc_destroy(descriptor);
  dnnl_stream_destroy(stream);
  dnnl_engine_destroy(engine);
}

// A convolution, which is oneDNN's: of ones by ones, 27 products inside of the image.
void RunPlait() {
  const std::string model = GraphBytes(13, R"(g (float[1,3,64,64] x) => (float[1,32,64,64] y) {
        y = Conv <pads = [1,1,1,1]> (x, w)
      })",
                                       [](onnx::ModelProto* proto) {
                                         onnx::TensorProto* const w =
                                             proto->mutable_graph()->add_initializer();
                                         *w = FloatTensor("w", {32, 3, 3, 3}, 1, 0);
                                       });
  plait_session* session = nullptr;
  plait_error* error =
      plait_session_create_from_memory(model.data(), model.size(), nullptr, &session);
  ASSERT_EQ(error, nullptr) << plait_error_message(error);
  std::vector<float> x(size_t{3} * 64 * 64, 1.0f);
  std::vector<float> y(size_t{32} * 64 * 64);
  plait_tensor input = PLAIT_TENSOR_INIT;
  plait_tensor output = PLAIT_TENSOR_INIT;
  EXPECT_EQ(plait_session_describe_input(session, 0, &input), nullptr);
  EXPECT_EQ(plait_session_describe_output(session, 0, &output), nullptr);
  input.data = x.data();
  output.data = y.data();
  error = plait_session_run(session, &input, 1, &output, 1);
  EXPECT_EQ(error, nullptr) << plait_error_message(error);
  EXPECT_EQ(y[size_t{32} * 64 * 64 / 2 + 32 * 64 + 32], 27);
  EXPECT_EQ(y[0], 12);
  plait_session_destroy(session);
}

std::string LibraryOf(void* function) {
  Dl_info info = {};
  return dladdr(function, &info) == 0 ? "" : info.dli_fname;
}

TEST(BesideOnednnTest, EachKeepsItsOwn) {
  for (int repeat = 0; repeat < 2; ++repeat) {
    RunHostOnednn();
    EXPECT_EQ(ThreadsOfAHostRegion(), kHostThreads);
    RunPlait();
    EXPECT_EQ(ThreadsOfAHostRegion(), kHostThreads);
  }
  EXPECT_THAT(LibraryOf(dlsym(RTLD_DEFAULT, "GOMP_parallel")), HasSubstr("libgomp"));
  EXPECT_THAT(LibraryOf(dlsym(RTLD_DEFAULT, "dnnl_version")), HasSubstr("libdnnl"));
}

// What plait opens is there, and cannot be met.
TEST(BesideOnednnTest, PlaitsCopyIsFoundByNobody) {
  RunPlait();
  void* const copy = dlopen("plaitdnnl.so", RTLD_NOW | RTLD_NOLOAD);
  ASSERT_NE(copy, nullptr);
  EXPECT_NE(dlsym(copy, "dnnl_version"), dlsym(RTLD_DEFAULT, "dnnl_version"));
  EXPECT_EQ(dlsym(RTLD_DEFAULT, "PLMP_parallel"), nullptr);
  dlclose(copy);
}

}  // namespace
}  // namespace plait
