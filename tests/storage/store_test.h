#pragma once

#include <filesystem>
#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "proto/wire/digest.h"
#include "storage/stores.h"
#include "tests/base/manual_clock.h"

namespace plait {

// A folder of its own for each test, gone afterwards.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string pattern =
        (std::filesystem::path(testing::TempDir()) / "plait_storage_XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Runs over every backend in stores.def: INSTANTIATE_STORE_TEST(Suite).
class StoreTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { Open(); }

  void Open(int64_t queued_jobs_max = kQueuedJobsMax) {
    stores_ = Stores();
    StoresOptions options{.directory = directory_.path(), .queued_jobs_max = queued_jobs_max};
    options.listener = [this](const std::string& job_id) {
      absl::MutexLock lock(&changed_mutex_);
      changed_.push_back(job_id);
    };
    absl::StatusOr<Stores> stores = OpenStores(GetParam(), options, clock_);
    ASSERT_TRUE(stores.ok()) << stores.status();
    stores_ = *std::move(stores);
  }

  static JobSubmission Submission(const std::string& id, const std::string& tenant = "alice") {
    JobSubmission submission;
    submission.job.set_id(id);
    submission.job.set_tenant(tenant);
    *submission.job.mutable_model() = wire::DigestToProto(DigestOf("model"));
    submission.job.mutable_options()->set_device("cpu");
    // Otherwise equal jobs would wait for each other.
    submission.job.mutable_options()->set_no_result_cache(true);
    return submission;
  }

  JobStore& jobs() { return *stores_.jobs; }
  BlobStore& blobs() { return *stores_.blobs; }
  ProfileStore& profiles() { return *stores_.profiles; }

  // Submits a job and takes it.
  LeasedJob Running(const std::string& id) {
    EXPECT_TRUE(jobs().Submit(Submission(id)).ok());
    return Acquired();
  }
  LeasedJob Acquired() {
    const auto leased = jobs().Acquire({"worker-1", {}, absl::Seconds(30)});
    EXPECT_TRUE(leased.ok() && leased->has_value()) << leased.status();
    return leased.ok() && leased->has_value() ? **leased : LeasedJob();
  }

  static JobEnd Success() {
    JobEnd end{.state = v1::JOB_STATE_SUCCEEDED, .result = v1::JobResult()};
    end.result->mutable_report()->set_speedup(1.25);
    *end.result->mutable_optimized_model() = wire::DigestToProto(DigestOf("optimized"));
    return end;
  }
  static JobEnd Failure(v1::JobState state, v1::ErrorReason reason) {
    JobEnd end{.state = state, .error = v1::ErrorDetail()};
    end.error->set_reason(reason);
    end.error->set_message("conv3: stride must be positive, is 0");
    return end;
  }

  TemporaryDirectory directory_;
  ManualClock clock_;
  absl::Mutex changed_mutex_;
  std::vector<std::string> changed_ ABSL_GUARDED_BY(changed_mutex_);
  Stores stores_;  // last: its listener uses the members above
};

#define INSTANTIATE_STORE_TEST(suite)                                               \
  INSTANTIATE_TEST_SUITE_P(EveryBackend, suite, testing::ValuesIn(StoreBackends()), \
                           [](const auto& info) { return info.param; })

}  // namespace plait
