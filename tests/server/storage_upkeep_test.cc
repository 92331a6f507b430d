#include "server/storage_upkeep.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "absl/time/clock.h"
#include "proto/wire/digest.h"
#include "server/telemetry/log.h"
#include "storage/blob_bytes.h"
#include "tests/base/manual_clock.h"

namespace plait {
namespace {

class StorageUpkeepTest : public testing::Test {
 protected:
  StorageUpkeepTest() { EXPECT_TRUE(SetLogLevel("off").ok()); }

  // The value of the gauge `name`, which has no labels; -1 when it was never set.
  double Gauge(absl::string_view name) {
    for (const prometheus::MetricFamily& family : metrics_.registry().Collect()) {
      if (family.name == name && !family.metric.empty()) return family.metric[0].gauge.value;
    }
    return -1;
  }

  bool IsThere(absl::string_view bytes) {
    // Asking keeps a blob from being collected; listing does not.
    const std::vector<BlobEntry> entries = *stores_.blobs->List();
    return std::any_of(entries.begin(), entries.end(),
                       [&](const BlobEntry& entry) { return entry.digest == DigestOf(bytes); });
  }

  ManualClock clock_;
  Stores stores_ = *OpenStores("memory", {}, clock_);
  Metrics metrics_{"1", "1"};
  StorageUpkeep upkeep_{stores_, metrics_, clock_, {.jobs_kept = absl::Hours(24) * 30}};
};

TEST_F(StorageUpkeepTest, CollectsAfterADayWhatNoJobNeeds) {
  v1::Job job;
  job.set_id("job-1");
  job.set_tenant("alice");
  *job.mutable_model() = wire::DigestToProto(*PutBlob(*stores_.blobs, "model of a job"));
  job.mutable_options()->set_device("cpu");
  ASSERT_TRUE(stores_.jobs->Submit({job, "", ""}).ok());
  ASSERT_TRUE(PutBlob(*stores_.blobs, "job never came").ok());
  const BlobUpload abandoned = {"alice", DigestOf("abandoned upload")};
  ASSERT_TRUE(stores_.blobs->Append(abandoned, 0, "aban").ok());

  clock_.Advance(absl::Hours(23));
  upkeep_.Tick();
  EXPECT_TRUE(IsThere("job never came"));
  EXPECT_EQ(*stores_.blobs->BytesUploaded(abandoned), 4);

  clock_.Advance(absl::Hours(2));
  upkeep_.Tick();
  EXPECT_FALSE(IsThere("job never came"));
  EXPECT_TRUE(IsThere("model of a job"));
  EXPECT_EQ(*stores_.blobs->BytesUploaded(abandoned), 0);
}

// A client has uploaded a model, and is about to submit its job.
TEST_F(StorageUpkeepTest, KeepsWhatWasUploadedBeforeTheTimeWasSetForward) {
  upkeep_.Tick();
  clock_.Advance(absl::Minutes(59));
  ASSERT_TRUE(PutBlob(*stores_.blobs, "just uploaded").ok());
  clock_.SetForward(absl::Hours(48));
  clock_.Advance(absl::Minutes(1));
  upkeep_.Tick();
  EXPECT_TRUE(IsThere("just uploaded"));
  // Asking for it counts from the beginning again.
  clock_.Advance(absl::Minutes(30));
  ASSERT_TRUE(*stores_.blobs->Find(DigestOf("just uploaded")));
  clock_.SetForward(absl::Hours(48));
  clock_.Advance(absl::Minutes(30));
  upkeep_.Tick();
  EXPECT_TRUE(IsThere("just uploaded"));
  clock_.Advance(absl::Hours(1));
  upkeep_.Tick();
  EXPECT_FALSE(IsThere("just uploaded"));
}

TEST_F(StorageUpkeepTest, DeletesJobsThatEndedLongAgo) {
  for (int number = 0; number < 25; ++number) {
    v1::Job job;
    job.set_id(absl::StrCat("job-", number));
    job.set_tenant("alice");
    *job.mutable_model() = wire::DigestToProto(*PutBlob(*stores_.blobs, "model"));
    ASSERT_TRUE(stores_.jobs->Submit({job, "", ""}).ok());
    if (number > 0) {
      ASSERT_TRUE(stores_.jobs->Cancel("alice", job.id()).ok());
    }
  }
  clock_.Advance(absl::Hours(24) * 30);
  upkeep_.Tick();
  EXPECT_TRUE(stores_.jobs->Get("alice", "job-24").ok());
  clock_.Advance(absl::Hours(1));
  upkeep_.Tick();
  const JobPage left = *stores_.jobs->List({.tenant = "alice", .page_size = 100});
  ASSERT_EQ(left.jobs.size(), 1u);
  EXPECT_EQ(left.jobs[0].id(), "job-0");
  EXPECT_TRUE(IsThere("model"));
}

TEST_F(StorageUpkeepTest, KeepsBlobsBelowTheirLimitOfBytes) {
  ASSERT_TRUE(PutBlob(*stores_.blobs, "fifteen bytes 1").ok());
  clock_.Advance(absl::Hours(2));
  ASSERT_TRUE(PutBlob(*stores_.blobs, "fifteen bytes 2").ok());
  StorageUpkeep upkeep(stores_, metrics_, clock_, {.blobs_bytes_max = 20});
  upkeep.Tick();
  EXPECT_TRUE(IsThere("fifteen bytes 1"));
  clock_.Advance(absl::Minutes(59));
  ASSERT_TRUE(stores_.blobs->Find(DigestOf("fifteen bytes 2")).ok());
  clock_.Advance(absl::Minutes(1));
  upkeep.Tick();
  EXPECT_FALSE(IsThere("fifteen bytes 1"));
  EXPECT_TRUE(IsThere("fifteen bytes 2"));
}

// The cache of `plait optimize`, whose daemon lives for one job.
TEST_F(StorageUpkeepTest, ADaemonOfOneJobKeepsTheLimitToo) {
  for (const absl::string_view blob : {"fifteen bytes 1", "fifteen bytes 2", "fifteen bytes 3"}) {
    StorageUpkeep of_a_run(stores_, metrics_, clock_,
                           {.blobs_bytes_max = 20, .blobs_seen_unused = absl::ZeroDuration()});
    of_a_run.Tick();
    ASSERT_TRUE(PutBlob(*stores_.blobs, blob).ok());
    clock_.Advance(absl::Hours(2));
  }
  EXPECT_FALSE(IsThere("fifteen bytes 1"));
  EXPECT_TRUE(IsThere("fifteen bytes 2"));
  EXPECT_TRUE(IsThere("fifteen bytes 3"));
}

TEST_F(StorageUpkeepTest, WorksOnAThreadOfItsOwn) {
  ASSERT_TRUE(PutBlob(*stores_.blobs, "12345").ok());
  StorageUpkeep upkeep(stores_, metrics_, clock_, {});
  upkeep.Start();
  while (Gauge("plait_blob_files") != 1) absl::SleepFor(absl::Milliseconds(1));
}

TEST_F(StorageUpkeepTest, CountsEveryTenSeconds) {
  ASSERT_TRUE(PutBlob(*stores_.blobs, "12345").ok());
  upkeep_.Tick();
  EXPECT_EQ(Gauge("plait_blob_files"), 1);
  EXPECT_EQ(Gauge("plait_blob_stored_bytes"), 5);
  ASSERT_TRUE(PutBlob(*stores_.blobs, "123").ok());
  ASSERT_TRUE(stores_.blobs->Append({"alice", DigestOf("unfinished")}, 0, "un").ok());
  clock_.Advance(absl::Seconds(9));
  upkeep_.Tick();
  EXPECT_EQ(Gauge("plait_blob_files"), 1);
  clock_.Advance(absl::Seconds(1));
  upkeep_.Tick();
  EXPECT_EQ(Gauge("plait_blob_files"), 2);
  EXPECT_EQ(Gauge("plait_blob_stored_bytes"), 10);
}

}  // namespace
}  // namespace plait
