#include "server/jobs/job_models.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file_descriptor.h"
#include "proto/wire/digest.h"
#include "storage/blob_bytes.h"
#include "storage/stores.h"
#include "tests/base/manual_clock.h"

namespace plait {
namespace {

class JobModelsTest : public testing::Test {
 protected:
  JobModelsTest() {
    stores_ = *OpenStores("memory", {}, clock_);
    v1::Device fast;
    fast.set_id("fast");
    fast.set_fingerprint("fast-1");
    models_ =
        std::make_unique<JobModels>(*stores_.blobs, file_.number(), std::vector<v1::Device>{fast});
    *job_.mutable_model() = wire::DigestToProto(DigestOf("the original"));
    *job_.mutable_options()->add_input_sets()->add_values()->mutable_blob() =
        wire::DigestToProto(DigestOf("an input"));
    request_.set_runtime("fast");
    *request_.mutable_task()->add_models() = job_.model();
  }

  // Writes the bytes, and says that they are those of `claimed`.
  absl::Status Write(absl::string_view bytes, absl::string_view claimed) {
    EXPECT_EQ(write(file_.number(), bytes.data(), bytes.size()),
              static_cast<ssize_t>(bytes.size()));
    internal::BlobsWritten written;
    *written.add_blobs() = wire::DigestToProto(DigestOf(claimed));
    return models_->Store(written);
  }

  void Name(absl::string_view bytes) {
    *request_.mutable_task()->add_models() = wire::DigestToProto(DigestOf(bytes));
  }

  bool IsRefused() const {
    return absl::IsInvalidArgument(models_->CheckRequest(request_, job_).status());
  }

  ManualClock clock_;
  Stores stores_;
  FileDescriptor file_{memfd_create("test", MFD_CLOEXEC)};
  std::unique_ptr<JobModels> models_;
  v1::Job job_;
  internal::MeasureModelsRequest request_;
};

TEST_F(JobModelsTest, StoresWhatTheChildWroteAndLetsATaskNameIt) {
  ASSERT_TRUE(Write("rewritten", "rewritten").ok());
  EXPECT_EQ(*ReadBlob(*stores_.blobs, DigestOf("rewritten")), "rewritten");
  Name("rewritten");
  *request_.mutable_task()->add_input_sets() = job_.options().input_sets(0);
  const absl::StatusOr<v1::Device> device = models_->CheckRequest(request_, job_);
  ASSERT_TRUE(device.ok()) << device.status();
  EXPECT_EQ(device->fingerprint(), "fast-1");
}

// A worker may read what its task names: a child could have it read what is another tenant's.
TEST_F(JobModelsTest, RefusesBlobsThatAreNotTheJobs) {
  ASSERT_TRUE(PutBlob(*stores_.blobs, "a secret").ok());
  Name("a secret");
  EXPECT_TRUE(IsRefused());
  request_.mutable_task()->mutable_models()->RemoveLast();
  EXPECT_FALSE(IsRefused());
  *request_.mutable_task()->add_input_sets()->add_values()->mutable_blob() =
      wire::DigestToProto(DigestOf("a secret"));
  EXPECT_TRUE(IsRefused());
}

TEST_F(JobModelsTest, RefusesARuntimeThatIsNotTheJobsAndNoModels) {
  request_.set_runtime("cpu");
  EXPECT_TRUE(IsRefused());
  request_.set_runtime("fast");
  request_.mutable_task()->clear_models();
  EXPECT_TRUE(IsRefused());
}

TEST_F(JobModelsTest, BytesThatAreNotWhatTheirDigestSaysAreTheChildsFault) {
  EXPECT_TRUE(absl::IsInvalidArgument(Write("one", "two")));
}

TEST_F(JobModelsTest, WhatIsWrittenLaterLiesBehind) {
  ASSERT_TRUE(Write("inputs", "inputs").ok());
  ASSERT_TRUE(Write("", "").ok());
  ASSERT_TRUE(Write("the file", "the file").ok());
  EXPECT_EQ(*ReadBlob(*stores_.blobs, DigestOf("the file")), "the file");
}

TEST_F(JobModelsTest, ABlobThatIsShorterThanItsDigestSaysIsTheChildsFault) {
  EXPECT_TRUE(absl::IsInvalidArgument(Write("short", "longer than that")));
}

TEST_F(JobModelsTest, MoreBlobsThanAJobMayHaveAreRefused) {
  internal::BlobsWritten written;
  for (int i = 0; i < 64; ++i) *written.add_blobs() = wire::DigestToProto(DigestOf(""));
  EXPECT_TRUE(models_->Store(written).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(Write("", "")));
}

}  // namespace
}  // namespace plait
