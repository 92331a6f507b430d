#include "storage/blob_garbage.h"

#include "storage/blob_bytes.h"
#include "tests/storage/faulty_stores.h"
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
}

// A client asks for everything at the moment that is hardest to get right.
class BlobStoreInUse : public FaultyBlobStore {
 public:
  using FaultyBlobStore::FaultyBlobStore;

  absl::StatusOr<std::vector<BlobEntry>> List() override {
    absl::StatusOr<std::vector<BlobEntry>> entries = FaultyBlobStore::List();
    for (const BlobEntry& entry : *entries) EXPECT_TRUE(*Find(entry.digest));
    return entries;
  }
};

TEST_P(BlobGarbageTest, SparesABlobThatWasAskedForSinceItWasListed) {
  const Digest asked_for = *PutBlob(blobs(), "asked for");
  clock_.Advance(absl::Hours(2));
  BlobStoreInUse in_use(std::move(stores_.blobs));
  EXPECT_EQ(*DeleteUnreferencedBlobs(in_use, {}, clock_.Now() - absl::Hours(1)), 0);
  EXPECT_TRUE(*in_use.Find(asked_for));
}

}  // namespace
}  // namespace plait
