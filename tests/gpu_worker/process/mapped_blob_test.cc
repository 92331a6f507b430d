#include "gpu_worker/process/mapped_blob.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "base/blob_path.h"
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

// A folder in which a server keeps a blob.
class BlobOfServerTest : public testing::Test {
 protected:
  BlobOfServerTest() { std::filesystem::create_directories(path_.parent_path()); }
  ~BlobOfServerTest() override { std::filesystem::remove_all(folder_); }

  void Write(const std::string& bytes) { std::ofstream(path_) << bytes; }
  absl::StatusOr<std::shared_ptr<const MappedBlob>> Map() {
    return MappedBlob::OfServer(folder_, digest_);
  }

  const std::string folder_ = testing::TempDir() + "/plait_blobs_of_server";
  const Digest digest_ = DigestOf("right");
  const std::filesystem::path path_ = BlobPath(folder_, digest_);
};

TEST_F(BlobOfServerTest, IsReadWhereItLies) {
  Write("right");
  const auto blob = Map();
  ASSERT_TRUE(blob.ok()) << blob.status();
  std::filesystem::remove(path_);
  EXPECT_EQ((*blob)->bytes(), "right") << "deleted meanwhile";
}

TEST_F(BlobOfServerTest, MustHaveTheDigest) {
  EXPECT_TRUE(absl::IsNotFound(Map().status()));
  for (const char* bytes : {"", "wrong", "righ", "right!"}) {
    Write(bytes);
    EXPECT_TRUE(absl::IsNotFound(Map().status())) << bytes;
  }
}

TEST_F(BlobOfServerTest, IsNoLinkToAnotherFile) {
  const std::string other = folder_ + "/other";
  std::ofstream(other) << "right";
  std::filesystem::create_symlink(other, path_);
  EXPECT_TRUE(absl::IsNotFound(Map().status()));
}

}  // namespace
}  // namespace plait
