#include "gpu_worker/process/mapped_blob.h"

#include <gtest/gtest.h>

#include "tests/gpu_worker/process/map_bytes.h"

namespace plait {
namespace {

TEST(MappedBlobTest, HasTheBytesThatArrived) {
  absl::StatusOr<BlobFile> file = BlobFile::Create(DigestOf("in two pieces"));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_TRUE(file->Append("in two ").ok());
  EXPECT_TRUE(file->Append("pieces").ok());
  const absl::StatusOr<std::shared_ptr<const MappedBlob>> blob = file->Map();
  ASSERT_TRUE(blob.ok()) << blob.status();
  EXPECT_EQ((*blob)->bytes(), "in two pieces");
}

TEST(MappedBlobTest, MayBeEmpty) { EXPECT_EQ(MapBytes("")->bytes(), ""); }

TEST(MappedBlobTest, RefusesOtherBytesThanTheDigests) {
  for (const char* bytes : {"", "righ", "wrong"}) {
    absl::StatusOr<BlobFile> file = BlobFile::Create(DigestOf("right"));
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_TRUE(file->Append(bytes).ok());
    EXPECT_TRUE(absl::IsDataLoss(file->Map().status())) << bytes;
  }
}

// Before they are on the disk.
TEST(MappedBlobTest, RefusesMoreBytesThanTheDigestHas) {
  absl::StatusOr<BlobFile> file = BlobFile::Create(DigestOf("right"));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_TRUE(file->Append("right").ok());
  EXPECT_TRUE(absl::IsDataLoss(file->Append("!")));
}

}  // namespace
}  // namespace plait
