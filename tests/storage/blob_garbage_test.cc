#include "storage/blob_garbage.h"

#include "storage/blob_bytes.h"
#include "tests/storage/store_test.h"

namespace plait {
namespace {

using BlobGarbageTest = StoreTest;
INSTANTIATE_STORE_TEST(BlobGarbageTest);

TEST_P(BlobGarbageTest, DeletesOnlyOldBlobsThatNobodyNeeds) {
  const Digest needed = *PutBlob(blobs(), "needed");
  const Digest garbage = *PutBlob(blobs(), "garbage");
  const Digest asked_for = *PutBlob(blobs(), "asked for");
  clock_.Advance(absl::Hours(2));
  const Digest fresh = *PutBlob(blobs(), "fresh");
  ASSERT_TRUE(blobs().Find(asked_for).ok());
  const absl::StatusOr<int> deleted =
      DeleteUnreferencedBlobs(blobs(), {needed}, clock_.Now() - absl::Hours(1));
  ASSERT_TRUE(deleted.ok()) << deleted.status();
  EXPECT_EQ(*deleted, 1);
  EXPECT_FALSE(*blobs().Find(garbage));
  EXPECT_TRUE(*blobs().Find(needed));
  EXPECT_TRUE(*blobs().Find(asked_for));
  EXPECT_TRUE(*blobs().Find(fresh));
  EXPECT_TRUE(blobs().Delete(garbage).ok());
}

}  // namespace
}  // namespace plait
