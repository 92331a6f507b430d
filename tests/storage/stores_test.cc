#include "storage/stores.h"

#include <fstream>

#include <fcntl.h>

#include "absl/strings/match.h"
#include "storage/blob_bytes.h"
#include "storage/file_error.h"
#include "tests/storage/store_test.h"

namespace plait {
namespace {

TEST(StoresTest, NamesTheBackendsWhenOneIsUnknown) {
  ManualClock clock;
  const absl::Status status = OpenStores("oracle", {}, clock).status();
  EXPECT_EQ(status.message(), "storage backend: must be one of memory, sqlite, is \"oracle\"");
}

TEST(StoresTest, RefusesASecondOwnerOfADirectory) {
  TemporaryDirectory directory;
  ManualClock clock;
  absl::StatusOr<Stores> first = OpenStores("sqlite", {directory.path()}, clock);
  ASSERT_TRUE(first.ok()) << first.status();
  const absl::Status second = OpenStores("sqlite", {directory.path()}, clock).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(second));
  EXPECT_TRUE(absl::StrContains(second.message(), directory.path())) << second;
  EXPECT_TRUE(absl::StrContains(second.message(), absl::StrCat("process ", getpid()))) << second;
  *first = Stores();
  EXPECT_TRUE(OpenStores("sqlite", {directory.path()}, clock).ok());
}

TEST(StoresTest, NamesADirectoryThatCannotBeMade) {
  ManualClock clock;
  const absl::Status status = OpenStores("sqlite", {"/proc/plait"}, clock).status();
  EXPECT_TRUE(absl::StrContains(status.message(), "/proc/plait")) << status;
}

TEST(StoresTest, ReportsAFullDiskAsResourceExhausted) {
  EXPECT_TRUE(absl::IsResourceExhausted(FileError(ENOSPC, "f")));
  EXPECT_TRUE(absl::IsResourceExhausted(FileError(EDQUOT, "f")));
  EXPECT_TRUE(absl::IsUnavailable(FileError(EIO, "f")));
}

TEST(StoresTest, KeepsUploadsAndBlobsOverARestart) {
  TemporaryDirectory directory;
  ManualClock clock;
  const Digest unfinished = DigestOf("unfinished");
  absl::StatusOr<Stores> stores = OpenStores("sqlite", {directory.path()}, clock);
  ASSERT_TRUE(stores.ok());
  ASSERT_TRUE(PutBlob(*stores->blobs, "whole").ok());
  ASSERT_TRUE(stores->blobs->Append(unfinished, 0, "unfin").ok());
  *stores = Stores();
  stores = OpenStores("sqlite", {directory.path()}, clock);
  ASSERT_TRUE(stores.ok());
  EXPECT_EQ(*stores->blobs->Read(DigestOf("whole"), 0, 10), "whole");
  EXPECT_EQ(stores->blobs->Find(unfinished)->bytes_stored, 5);
}

TEST(StoresTest, ReportsABlobWhoseFileWasCut) {
  TemporaryDirectory directory;
  ManualClock clock;
  absl::StatusOr<Stores> stores = OpenStores("sqlite", {directory.path()}, clock);
  const Digest digest = *PutBlob(*stores->blobs, "hello");
  std::filesystem::resize_file(
      absl::StrCat(directory.path(), "/blobs/", digest.sha256_hex.substr(0, 2), "/",
                   digest.sha256_hex, "-5"),
      3);
  EXPECT_TRUE(absl::IsDataLoss(stores->blobs->Read(digest, 0, 5).status()));
}

}  // namespace
}  // namespace plait
