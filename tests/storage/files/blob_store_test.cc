#include <filesystem>

#include "storage/blob_bytes.h"
#include "tests/storage/store_test.h"

namespace plait {
namespace {

TEST(FilesBlobStoreTest, KeepsUploadsAndBlobsOverARestart) {
  TemporaryDirectory directory;
  ManualClock clock;
  const BlobUpload unfinished = {"alice", DigestOf("unfinished")};
  absl::StatusOr<Stores> stores = OpenStores("sqlite", {directory.path()}, clock);
  ASSERT_TRUE(stores.ok());
  ASSERT_TRUE(PutBlob(*stores->blobs, "whole").ok());
  ASSERT_TRUE(stores->blobs->Append(unfinished, 0, "unfin").ok());
  *stores = Stores();
  stores = OpenStores("sqlite", {directory.path()}, clock);
  ASSERT_TRUE(stores.ok());
  EXPECT_EQ(*stores->blobs->Read(DigestOf("whole"), 0, 10), "whole");
  EXPECT_EQ(*stores->blobs->BytesUploaded(unfinished), 5);
  EXPECT_EQ(stores->blobs->Uploads()->bytes, 5);
}

// As of a daemon that was killed while it stored a result: it would count for a day.
TEST(FilesBlobStoreTest, ForgetsItsOwnUploadsAtARestart) {
  TemporaryDirectory directory;
  ManualClock clock;
  const BlobUpload own = NewBlobUpload(DigestOf("unfinished"));
  absl::StatusOr<Stores> stores = OpenStores("sqlite", {directory.path()}, clock);
  ASSERT_TRUE(stores->blobs->Append(own, 0, "unfin").ok());
  EXPECT_EQ(stores->blobs->Uploads()->count, 1);
  *stores = Stores();
  stores = OpenStores("sqlite", {directory.path()}, clock);
  ASSERT_TRUE(stores.ok()) << stores.status();
  EXPECT_EQ(stores->blobs->Uploads()->count, 0);
  EXPECT_EQ(*stores->blobs->BytesUploaded(own), 0);
}

TEST(FilesBlobStoreTest, MakesTheFoldersThatAreMissing) {
  TemporaryDirectory directory;
  ManualClock clock;
  const absl::StatusOr<Stores> stores = OpenStores("sqlite", {directory.path() + "/a/b/"}, clock);
  ASSERT_TRUE(stores.ok()) << stores.status();
  EXPECT_TRUE(PutBlob(*stores->blobs, "hello").ok());
  EXPECT_TRUE(std::filesystem::is_directory(directory.path() + "/a/b/blobs"));
}

TEST(FilesBlobStoreTest, ReportsABlobWhoseFileWasCut) {
  TemporaryDirectory directory;
  ManualClock clock;
  absl::StatusOr<Stores> stores = OpenStores("sqlite", {directory.path()}, clock);
  const Digest digest = *PutBlob(*stores->blobs, "hello");
  std::filesystem::resize_file(
      absl::StrCat(directory.path(), "/blobs/", digest.sha256_hex.substr(0, 2), "/",
                   digest.sha256_hex, "-5"),
      3);
  EXPECT_TRUE(absl::IsDataLoss(stores->blobs->Read(digest, 0, 5).status()));
  EXPECT_FALSE(*stores->blobs->Find(digest));
  ASSERT_TRUE(PutBlob(*stores->blobs, "hello").ok());
  EXPECT_EQ(*stores->blobs->Read(digest, 0, 5), "hello");
}

}  // namespace
}  // namespace plait
