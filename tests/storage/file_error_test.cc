#include "storage/file_error.h"

#include <cerrno>

#include <gtest/gtest.h>

namespace plait {
namespace {

TEST(FileErrorTest, ReportsAFullDiskAsResourceExhausted) {
  EXPECT_TRUE(absl::IsResourceExhausted(FileError(ENOSPC, "f")));
  EXPECT_TRUE(absl::IsResourceExhausted(FileError(EDQUOT, "f")));
  EXPECT_TRUE(absl::IsUnavailable(FileError(EIO, "f")));
}

}  // namespace
}  // namespace plait
