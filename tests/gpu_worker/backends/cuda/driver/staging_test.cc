#include "gpu_worker/backends/cuda/driver/staging.h"

#include <numeric>
#include <vector>

#include "gtest/gtest.h"
#include "tests/gpu_worker/backends/cuda/recording_runtime.h"

namespace plait::cuda {
namespace {

constexpr size_t kStagingBytes = 64;

TEST(StagingTest, WhatIsLaunchedOnTheStreamReadsWhatWasUploaded) {
  RecordingRuntime runtime;
  const Stream stream = runtime.CreateStream(0).value();
  void* memory = runtime.Allocate(1000).value();
  {
    const auto staging = Staging::Make(&runtime, kStagingBytes);
    ASSERT_TRUE(staging.ok());
    std::vector<unsigned char> from(1000), to(1000);
    std::iota(from.begin(), from.end(), 3);
    const std::vector<unsigned char> expected = from;
    ASSERT_TRUE(staging.value()->Upload(memory, from.data(), 1000, stream).ok());
    from.assign(1000, 0);  // the caller's bytes are its own again
    ASSERT_TRUE(runtime.Fill(memory, 0x55, 10, stream).ok());
    ASSERT_TRUE(staging.value()->Download(to.data(), memory, 1000, stream).ok());
    EXPECT_EQ(std::vector<unsigned char>(to.begin(), to.begin() + 10),
              std::vector<unsigned char>(10, 0x55));
    EXPECT_TRUE(std::equal(to.begin() + 10, to.end(), expected.begin() + 10));
  }
  ASSERT_TRUE(runtime.Free(memory).ok());
  ASSERT_TRUE(runtime.DestroyStream(stream).ok());
  EXPECT_EQ(runtime.refusals(), std::vector<std::string>());
  EXPECT_EQ(runtime.Leaks(), std::vector<std::string>());
}

TEST(StagingTest, SmallUploadsDoNotWait) {
  RecordingRuntime runtime;
  const Stream stream = runtime.CreateStream(0).value();
  const Stream other = runtime.CreateStream(0).value();
  auto* memory = static_cast<std::byte*>(runtime.Allocate(256).value());
  const auto staging = Staging::Make(&runtime, kStagingBytes);
  ASSERT_TRUE(staging.ok());
  const std::vector<std::byte> from(32);
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(staging.value()->Upload(memory + 32 * i, from.data(), 32, stream).ok());
  }
  EXPECT_EQ(runtime.Count("Synchronize"), 0);
  ASSERT_TRUE(staging.value()->Upload(memory + 64, from.data(), 1, stream).ok());
  EXPECT_EQ(runtime.Count("Synchronize"), 1) << "the memory was full";
  ASSERT_TRUE(staging.value()->Upload(memory + 128, from.data(), 1, other).ok());
  EXPECT_EQ(runtime.Count("Synchronize"), 2) << "the other stream's copy may still read";
  EXPECT_EQ(runtime.refusals(), std::vector<std::string>());
}

TEST(StagingTest, FailuresAreToldAndNothingLeaks) {
  for (int call = 0; call < 6; ++call) {
    RecordingRuntime runtime;
    const Stream stream = runtime.CreateStream(0).value();
    void* memory = runtime.Allocate(100).value();
    runtime.FailAfter(call, true);
    std::vector<std::byte> bytes(100);
    const auto staging = Staging::Make(&runtime, kStagingBytes);
    const bool failed = !staging.ok() ||
                        !staging.value()->Upload(memory, bytes.data(), 100, stream).ok() ||
                        !staging.value()->Download(bytes.data(), memory, 100, stream).ok();
    EXPECT_TRUE(failed) << call;
  }
}

}  // namespace
}  // namespace plait::cuda
