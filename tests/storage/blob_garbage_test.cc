#include "storage/blob_garbage.h"

#include "storage/blob_bytes.h"
#include "tests/storage/faulty_stores.h"
#include "tests/storage/store_test.h"

namespace plait {
namespace {

class BlobGarbageTest : public StoreTest {
 protected:
  CollectedBlobs Collect(BlobStore& blobs, int64_t bytes_max = 0) {
    const absl::Time hour_ago = clock_.Now() - absl::Hours(1);
    const absl::StatusOr<CollectedBlobs> collected = CollectBlobs(
        blobs, jobs(),
        {.unused_before = hour_ago, .bytes_max = bytes_max, .evicted_before = hour_ago}, sightings_,
        stopping_);
    EXPECT_TRUE(collected.ok()) << collected.status();
    return collected.value_or(CollectedBlobs());
  }

  // Without asking, which would keep it.
  bool IsThere(const Digest& digest) { return blobs().Open(digest).ok(); }

  void SubmitJobOf(const std::string& id, const Digest& model) {
    JobSubmission submission = Submission(id);
    *submission.job.mutable_model() = wire::DigestToProto(model);
    ASSERT_TRUE(jobs().Submit(submission).ok());
  }

  BlobSightings sightings_{clock_};
  std::atomic<bool> stopping_ = false;
};

INSTANTIATE_STORE_TEST(BlobGarbageTest);

TEST_P(BlobGarbageTest, DeletesOnlyOldBlobsThatNobodyNeeds) {
  const Digest of_open_job = *PutBlob(blobs(), "of an open job");
  const Digest of_ended_job = *PutBlob(blobs(), "of an ended job");
  const Digest garbage = *PutBlob(blobs(), "garbage");
  const Digest asked_for = *PutBlob(blobs(), "asked for");
  SubmitJobOf("j1", of_open_job);
  SubmitJobOf("j2", of_ended_job);
  ASSERT_TRUE(jobs().Cancel("alice", "j2").ok());
  clock_.Advance(absl::Hours(2));
  const Digest fresh = *PutBlob(blobs(), "fresh");
  ASSERT_TRUE(blobs().Find(asked_for).ok());
  stopping_ = true;
  EXPECT_EQ(Collect(blobs()).unreferenced, 0);
  EXPECT_TRUE(IsThere(garbage));
  stopping_ = false;
  EXPECT_EQ(Collect(blobs()).unreferenced, 1);
  EXPECT_FALSE(IsThere(garbage));
  for (const Digest& kept : {of_open_job, of_ended_job, asked_for, fresh}) {
    EXPECT_TRUE(IsThere(kept));
  }
}

TEST_P(BlobGarbageTest, LeavesNoGrantsOfABlobThatIsGone) {
  const Digest digest = *PutBlob(blobs(), "a blob");
  ASSERT_TRUE(jobs().GrantBlob("alice", digest).ok());
  ASSERT_TRUE(jobs().GrantBlob("bob", digest).ok());
  ASSERT_TRUE(jobs().GrantBlob("alice", DigestOf("another")).ok());
  clock_.Advance(absl::Hours(2));
  // He is bringing it again at this moment.
  ASSERT_TRUE(jobs().GrantBlob("bob", digest).ok());
  EXPECT_EQ(Collect(blobs()).unreferenced, 1);
  EXPECT_FALSE(*jobs().MayReadBlob("alice", digest));
  EXPECT_TRUE(*jobs().MayReadBlob("bob", digest));
  EXPECT_TRUE(*jobs().MayReadBlob("alice", DigestOf("another")));
}

TEST_P(BlobGarbageTest, ReadsAsManyJobsAsThereAre) {
  const Digest first = *PutBlob(blobs(), "first");
  SubmitJobOf("j", first);
  for (int number = 0; number < 250; ++number) SubmitJobOf(absl::StrCat("j", number), first);
  clock_.Advance(absl::Hours(2));
  EXPECT_EQ(Collect(blobs()).unreferenced, 0);
  EXPECT_TRUE(IsThere(first));
}

TEST_P(BlobGarbageTest, EvictsTheLeastRecentlyUsedAboveTheLimit) {
  // Ten bytes each; the job of the oldest one is not over.
  std::vector<Digest> models;
  for (int number = 0; number < 5; ++number) {
    models.push_back(*PutBlob(blobs(), absl::StrCat("model no ", number)));
    SubmitJobOf(absl::StrCat("j", number), models.back());
    if (number > 0) {
      ASSERT_TRUE(jobs().Cancel("alice", absl::StrCat("j", number)).ok());
    }
    clock_.Advance(absl::Hours(2));
  }
  ASSERT_TRUE(blobs().Find(models[1]).ok());
  EXPECT_EQ(Collect(blobs(), 50).evicted, 0);
  EXPECT_EQ(Collect(blobs(), 31).evicted, 2);
  EXPECT_TRUE(IsThere(models[0]));
  EXPECT_TRUE(IsThere(models[1]));
  EXPECT_FALSE(IsThere(models[2]));
  EXPECT_FALSE(IsThere(models[3]));
  EXPECT_TRUE(IsThere(models[4]));
  // Neither what an open job needs nor what was used a moment ago.
  EXPECT_EQ(Collect(blobs(), 1).evicted, 1);
  EXPECT_TRUE(IsThere(models[0]));
  EXPECT_TRUE(IsThere(models[1]));
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
  EXPECT_EQ(Collect(in_use).unreferenced, 0);
  EXPECT_EQ(Collect(in_use, 1).evicted, 0);
  EXPECT_TRUE(*in_use.Find(asked_for));
}

}  // namespace
}  // namespace plait
