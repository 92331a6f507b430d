#include <unistd.h>

#include "storage/blob_bytes.h"
#include "tests/storage/store_test.h"

namespace plait {
namespace {

using BlobStoreTest = StoreTest;
INSTANTIATE_STORE_TEST(BlobStoreTest);

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
  const Digest digest = DigestOf("hello world");
  EXPECT_EQ(*blobs().Append(digest, 0, "hello"), 5);
  EXPECT_FALSE(blobs().Find(digest)->complete);
  EXPECT_EQ(blobs().Find(digest)->bytes_stored, 5);
  EXPECT_TRUE(absl::IsOutOfRange(blobs().Append(digest, 0, "hello").status()));
  EXPECT_TRUE(absl::IsOutOfRange(blobs().Append(digest, 6, "world").status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(blobs().Finish(digest)));
  EXPECT_EQ(*blobs().Append(digest, 5, " world"), 11);
  EXPECT_TRUE(absl::IsNotFound(blobs().Read(digest, 0, 1).status()));
  ASSERT_TRUE(blobs().Finish(digest).ok());
  EXPECT_TRUE(blobs().Find(digest)->complete);
}

TEST_P(BlobStoreTest, DropsAnUploadWithTheWrongDigest) {
  const Digest digest = DigestOf("right");
  ASSERT_TRUE(blobs().Append(digest, 0, "wrong").ok());
  EXPECT_TRUE(absl::IsDataLoss(blobs().Finish(digest)));
  EXPECT_TRUE(absl::IsNotFound(blobs().Read(digest, 0, 1).status()));
  EXPECT_EQ(blobs().Find(digest)->bytes_stored, 0);
  EXPECT_TRUE(PutBlob(blobs(), "right").ok());
}

TEST_P(BlobStoreTest, RefusesMoreBytesThanAnnounced) {
  EXPECT_TRUE(absl::IsInvalidArgument(blobs().Append(DigestOf("ab"), 0, "abc").status()));
  EXPECT_EQ(blobs().Find(DigestOf("ab"))->bytes_stored, 0);
}

TEST_P(BlobStoreTest, RefusesABlobBeyondTheLimit) {
  const Digest digest{std::string(64, 'a'), kModelBytesMax + 1};
  EXPECT_TRUE(absl::IsResourceExhausted(blobs().Append(digest, 0, "x").status()));
}

TEST_P(BlobStoreTest, AcceptsABlobThatIsThereAlready) {
  const Digest digest = *PutBlob(blobs(), "hello");
  EXPECT_EQ(*blobs().Append(digest, 0, "hello"), 5);
  EXPECT_TRUE(blobs().Finish(digest).ok());
  EXPECT_EQ(blobs().List()->size(), 1u);
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

TEST_P(BlobStoreTest, DropsUploadsThatNobodyContinued) {
  const Digest abandoned = DigestOf("abandoned");
  const Digest continued = DigestOf("continued");
  ASSERT_TRUE(blobs().Append(abandoned, 0, "aban").ok());
  ASSERT_TRUE(blobs().Append(continued, 0, "cont").ok());
  const Digest whole = *PutBlob(blobs(), "whole");
  clock_.Advance(absl::Hours(2));
  ASSERT_TRUE(blobs().Append(continued, 4, "inu").ok());
  const absl::StatusOr<int> dropped = blobs().DropUploads(clock_.Now() - absl::Hours(1));
  ASSERT_TRUE(dropped.ok()) << dropped.status();
  EXPECT_EQ(*dropped, 1);
  EXPECT_EQ(blobs().Find(abandoned)->bytes_stored, 0);
  EXPECT_EQ(blobs().Find(continued)->bytes_stored, 7);
  EXPECT_TRUE(blobs().Find(whole)->complete);
}

}  // namespace
}  // namespace plait
