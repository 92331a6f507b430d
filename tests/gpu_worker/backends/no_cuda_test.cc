#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu_worker/executor/executor.h"

// What a build without the headers of CUDA, NVRTC and cuDNN has in place of the backend.

namespace plait {

absl::StatusOr<std::unique_ptr<Executor>> OpenCudaExecutor(absl::string_view device_id,
                                                           const ExecutorOptions& options);
absl::StatusOr<std::vector<std::string>> CudaDeviceIds();

namespace {

TEST(NoCudaTest, RefusesTheDeviceByName) {
  const absl::Status status = OpenCudaExecutor("cuda:0", {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()),
              testing::AllOf(testing::HasSubstr("\"cuda:0\""), testing::HasSubstr("NVRTC"),
                             testing::HasSubstr("cuDNN")));
  EXPECT_EQ(CudaDeviceIds().status().code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace plait
