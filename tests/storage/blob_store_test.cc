#include <unistd.h>

#include "storage/blob_bytes.h"
#include "tests/storage/store_test.h"

namespace plait {
namespace {

using BlobStoreTest = StoreTest;
INSTANTIATE_STORE_TEST(BlobStoreTest);

BlobUpload UploadOf(absl::string_view bytes, const std::string& owner = "alice") {
  return {owner, DigestOf(bytes)};
}

TEST_P(BlobStoreTest, KeepsBytesOfAnyKind) {
  for (const std::string& bytes :
       {std::string(), std::string("a\0\xff'\"\n", 6), std::string(3'000'000, 'x')}) {
    const absl::StatusOr<Digest> digest = PutBlob(blobs(), bytes);
    ASSERT_TRUE(digest.ok()) << digest.status();
    const absl::StatusOr<std::string> read = blobs().Read(*digest, 0, 10'000'000);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_TRUE(*read == bytes);
  }
}

TEST_P(BlobStoreTest, ContinuesAnUploadWhereItStopped) {
  const BlobUpload upload = UploadOf("hello world");
  EXPECT_EQ(*blobs().Append(upload, 0, "hello"), 5);
  EXPECT_FALSE(*blobs().Find(upload.digest));
  EXPECT_EQ(*blobs().BytesUploaded(upload), 5);
  EXPECT_TRUE(absl::IsOutOfRange(blobs().Append(upload, 0, "hello").status()));
  EXPECT_TRUE(absl::IsOutOfRange(blobs().Append(upload, 6, "world").status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(blobs().Finish(upload)));
  EXPECT_EQ(*blobs().Append(upload, 5, " world"), 11);
  EXPECT_TRUE(absl::IsNotFound(blobs().Read(upload.digest, 0, 1).status()));
  ASSERT_TRUE(blobs().Finish(upload).ok());
  EXPECT_TRUE(*blobs().Find(upload.digest));
  EXPECT_EQ(*blobs().BytesUploaded(upload), 0);
}

// Garbage of one must not spoil the upload of another.
TEST_P(BlobStoreTest, KeepsTheUploadsOfTwoOwnersApart) {
  const BlobUpload alice = UploadOf("hello", "alice");
  const BlobUpload bob = UploadOf("hello", "bob/../alice");
  ASSERT_TRUE(blobs().Append(bob, 0, "HELL").ok());
  EXPECT_EQ(*blobs().BytesUploaded(alice), 0);
  ASSERT_TRUE(blobs().Append(alice, 0, "hello").ok());
  ASSERT_TRUE(blobs().Finish(alice).ok());
  EXPECT_EQ(*blobs().BytesUploaded(bob), 4);
  ASSERT_TRUE(blobs().Append(bob, 4, "O").ok());
  EXPECT_TRUE(absl::IsDataLoss(blobs().Finish(bob)));
  EXPECT_EQ(*blobs().Read(alice.digest, 0, 10), "hello");
}

// The blob of another owner is no proof that this one has its bytes.
TEST_P(BlobStoreTest, ChecksAnUploadOfABlobThatIsThereAlready) {
  const Digest digest = *PutBlob(blobs(), "hello");
  const BlobUpload upload = {"bob", digest};
  EXPECT_TRUE(absl::IsFailedPrecondition(blobs().Finish(upload)));
  ASSERT_TRUE(blobs().Append(upload, 0, "guess").ok());
  EXPECT_TRUE(absl::IsDataLoss(blobs().Finish(upload)));
  ASSERT_TRUE(blobs().Append(upload, 0, "hello").ok());
  EXPECT_TRUE(blobs().Finish(upload).ok());
  EXPECT_EQ(blobs().List()->size(), 1u);
}

TEST_P(BlobStoreTest, DropsAnUploadWithTheWrongDigest) {
  const BlobUpload upload = UploadOf("right");
  ASSERT_TRUE(blobs().Append(upload, 0, "wrong").ok());
  EXPECT_TRUE(absl::IsDataLoss(blobs().Finish(upload)));
  EXPECT_TRUE(absl::IsNotFound(blobs().Read(upload.digest, 0, 1).status()));
  EXPECT_EQ(*blobs().BytesUploaded(upload), 0);
  EXPECT_TRUE(PutBlob(blobs(), "right").ok());
}

TEST_P(BlobStoreTest, RefusesMoreBytesThanAnnounced) {
  const BlobUpload upload = UploadOf("ab");
  EXPECT_TRUE(absl::IsInvalidArgument(blobs().Append(upload, 0, "abc").status()));
  EXPECT_EQ(*blobs().BytesUploaded(upload), 0);
}

TEST_P(BlobStoreTest, RefusesABlobBeyondTheLimit) {
  const BlobUpload upload = {"alice", {std::string(64, 'a'), kModelBytesMax + 1}};
  EXPECT_TRUE(absl::IsResourceExhausted(blobs().Append(upload, 0, "x").status()));
}

TEST_P(BlobStoreTest, ReadsFromAnyOffset) {
  const Digest digest = *PutBlob(blobs(), "hello");
  EXPECT_EQ(*blobs().Read(digest, 1, 3), "ell");
  EXPECT_EQ(*blobs().Read(digest, 4, 100), "o");
  EXPECT_EQ(*blobs().Read(digest, 5, 100), "");
  EXPECT_TRUE(absl::IsOutOfRange(blobs().Read(digest, 6, 1).status()));
  EXPECT_TRUE(absl::IsOutOfRange(blobs().Read(digest, -1, 1).status()));
}

TEST_P(BlobStoreTest, OpensABlobForAChild) {
  const Digest digest = *PutBlob(blobs(), "hello");
  const absl::StatusOr<FileDescriptor> file = blobs().Open(digest);
  ASSERT_TRUE(file.ok()) << file.status();
  char bytes[8];
  EXPECT_EQ(read(file->number(), bytes, sizeof(bytes)), 5);
  EXPECT_TRUE(absl::IsNotFound(blobs().Open(DigestOf("absent")).status()));
}

TEST_P(BlobStoreTest, DeletesABlobThatWasNotUsedSince) {
  const Digest digest = *PutBlob(blobs(), "hello");
  const absl::Time stored_at = clock_.Now();
  EXPECT_FALSE(*blobs().DeleteUnused(digest, stored_at));
  clock_.Advance(absl::Hours(1));
  ASSERT_TRUE(*blobs().Find(digest));
  EXPECT_FALSE(*blobs().DeleteUnused(digest, stored_at + absl::Minutes(1)));
  EXPECT_TRUE(*blobs().DeleteUnused(digest, clock_.Now() + absl::Minutes(1)));
  EXPECT_FALSE(*blobs().Find(digest));
  EXPECT_FALSE(*blobs().DeleteUnused(digest, clock_.Now() + absl::Minutes(1)));
}

TEST_P(BlobStoreTest, CountsWhatUnfinishedUploadsTake) {
  const auto expect = [&](int64_t count, int64_t bytes) {
    const absl::StatusOr<UploadUsage> usage = blobs().Uploads();
    ASSERT_TRUE(usage.ok()) << usage.status();
    EXPECT_EQ(usage->count, count);
    EXPECT_EQ(usage->bytes, bytes);
  };
  const BlobUpload first = UploadOf("first");
  const BlobUpload second = UploadOf("second");
  // Otherwise anybody could make files without sending a byte.
  EXPECT_EQ(*blobs().Append(first, 0, ""), 0);
  expect(0, 0);
  ASSERT_TRUE(blobs().Append(first, 0, "fir").ok());
  ASSERT_TRUE(blobs().Append(second, 0, "sec").ok());
  ASSERT_TRUE(blobs().Append(first, 3, "st").ok());
  ASSERT_TRUE(PutBlob(blobs(), "whole").ok());
  expect(2, 8);
  ASSERT_TRUE(blobs().Finish(first).ok());
  expect(1, 3);
  ASSERT_TRUE(blobs().DropUploads(absl::InfiniteFuture()).ok());
  expect(0, 0);
}

TEST_P(BlobStoreTest, DropsAnUploadWhoseOwnerGivesUp) {
  const BlobUpload upload = UploadOf("hello");
  EXPECT_TRUE(blobs().Drop(upload).ok());
  ASSERT_TRUE(blobs().Append(upload, 0, "hel").ok());
  EXPECT_TRUE(blobs().Drop(upload).ok());
  EXPECT_EQ(*blobs().BytesUploaded(upload), 0);
  EXPECT_EQ(blobs().Uploads()->count, 0);
}

// On a full disk it would be in the way for a day.
TEST_P(BlobStoreTest, LeavesNothingOfABlobThatCannotBeStored) {
  const Digest digest = DigestOf("hello");
  const absl::Status stored = StoreBlob(blobs(), digest, [&](const BlobUpload& upload) {
    EXPECT_TRUE(blobs().Append(upload, 0, "hel").ok());
    return absl::ResourceExhaustedError("the disk is full");
  });
  EXPECT_TRUE(absl::IsResourceExhausted(stored)) << stored;
  EXPECT_EQ(blobs().Uploads()->count, 0);
  EXPECT_TRUE(absl::IsFailedPrecondition(
      StoreBlob(blobs(), digest, [](const BlobUpload&) { return absl::OkStatus(); })));
  EXPECT_EQ(blobs().Uploads()->count, 0);
}

TEST_P(BlobStoreTest, DropsUploadsThatNobodyContinued) {
  const BlobUpload abandoned = UploadOf("abandoned");
  const BlobUpload continued = UploadOf("continued");
  ASSERT_TRUE(blobs().Append(abandoned, 0, "aban").ok());
  ASSERT_TRUE(blobs().Append(continued, 0, "cont").ok());
  const Digest whole = *PutBlob(blobs(), "whole");
  clock_.Advance(absl::Hours(2));
  ASSERT_TRUE(blobs().Append(continued, 4, "inu").ok());
  const absl::StatusOr<int> dropped = blobs().DropUploads(clock_.Now() - absl::Hours(1));
  ASSERT_TRUE(dropped.ok()) << dropped.status();
  EXPECT_EQ(*dropped, 1);
  EXPECT_EQ(*blobs().BytesUploaded(abandoned), 0);
  EXPECT_EQ(*blobs().BytesUploaded(continued), 7);
  EXPECT_TRUE(*blobs().Find(whole));
}

}  // namespace
}  // namespace plait
