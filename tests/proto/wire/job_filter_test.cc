#include "proto/wire/job_filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/proto/wire/details.h"

namespace plait::wire {
namespace {

using testing::HasSubstr;

// Submitted at noon of 31 January 2026, started half a second later, not over.
v1::Job RunningJob() {
  v1::Job job;
  job.set_id("job-1");
  job.set_state(v1::JOB_STATE_RUNNING);
  job.mutable_options()->set_device("cpu");
  job.mutable_model()->set_sha256_hex("ab");
  job.mutable_create_time()->set_seconds(1769860800);
  job.mutable_start_time()->set_seconds(1769860800);
  job.mutable_start_time()->set_nanos(500'000'000);
  return job;
}

bool Matches(const char* text) {
  const absl::StatusOr<JobFilter> filter = JobFilter::Parse(text);
  EXPECT_TRUE(filter.ok()) << text << ": " << filter.status();
  return filter.ok() && filter->Matches(RunningJob());
}

TEST(WireJobFilterTest, ComparesTexts) {
  for (const char* text :
       {"", "  ", "state = RUNNING", "state=RUNNING", "state != FAILED", "device = cpu",
        "device = \"cpu\"", "id = job-1", "model = ab", "model != \"\""}) {
    EXPECT_TRUE(Matches(text)) << text;
  }
  for (const char* text : {"state = QUEUED", "state != RUNNING", "device = \"cuda:0\"",
                           "device = cuda:0", "id = job", "model = abc"}) {
    EXPECT_FALSE(Matches(text)) << text;
  }
}

TEST(WireJobFilterTest, ComparesTimes) {
  for (const char* text :
       {"create_time = 2026-01-31T12:00:00Z", "create_time = \"2026-01-31T13:00:00+01:00\"",
        "create_time >= 2026-01-31T12:00:00Z", "create_time <= 2026-01-31T12:00:00Z",
        "start_time > 2026-01-31T12:00:00.4Z", "start_time < 2026-01-31T12:00:00.6Z",
        "start_time != 2026-01-31T12:00:00Z"}) {
    EXPECT_TRUE(Matches(text)) << text;
  }
  EXPECT_FALSE(Matches("create_time > 2026-01-31T12:00:00Z"));
  EXPECT_FALSE(Matches("create_time < 2026-01-31T12:00:00Z"));
}

TEST(WireJobFilterTest, ATimeThatIsNotYetFitsOnlyNotEqual) {
  EXPECT_TRUE(Matches("end_time != 2026-01-31T12:00:00Z"));
  for (const char* op : {"=", "<", "<=", ">", ">="}) {
    EXPECT_FALSE(Matches(("end_time " + std::string(op) + " 2026-01-31T12:00:00Z").c_str())) << op;
  }
}

TEST(WireJobFilterTest, AllComparisonsMustBeTrue) {
  EXPECT_TRUE(Matches("state = RUNNING AND device = cpu AND create_time > 2026-01-01T00:00:00Z"));
  EXPECT_FALSE(Matches("state = RUNNING AND device = cpu AND create_time < 2026-01-01T00:00:00Z"));
}

TEST(WireJobFilterTest, SaysWhatIsWrong) {
  const struct {
    std::string text;
    const char* says;
  } kCases[] = {
      {"colour = red", "a field must be state"},
      {"state ~ RUNNING", "an operator must be"},
      {"state < RUNNING", "only times are compared"},
      {"state = running", "a state must be QUEUED"},
      {"create_time > yesterday", "a time must be one of RFC 3339"},
      {"device = ", "a value must be"},
      {"device = \"cpu", "must end"},
      {"device = \"a\\\"b\"", "no \\"},
      {"state = RUNNING OR device = cpu", "joined by AND"},
      {"(state = RUNNING)", "a field must be state"},
      {"state = RUNNING AND", "must follow AND"},
      {"state = RUNNING device = cpu", "joined by AND"},
      {std::string(1025, ' '), "at most 1024 bytes"},
  };
  for (const auto& [text, says] : kCases) {
    const absl::Status status = JobFilter::Parse(text).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << text;
    EXPECT_EQ(FieldOf(status), "filter") << text;
    EXPECT_THAT(std::string(status.message()), HasSubstr(says)) << text;
  }
}

}  // namespace
}  // namespace plait::wire
