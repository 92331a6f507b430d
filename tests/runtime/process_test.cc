#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "onnx/shape_inference/implementation.h"
#include "plait/runtime.h"
#include "tests/runtime/product_model.h"
#include "tests/runtime/session.h"

// What sessions share with the program around them: its memory, its threads, its children, and an
// onnx of its own.

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

using ::testing::HasSubstr;

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
