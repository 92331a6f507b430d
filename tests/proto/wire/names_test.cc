#include "proto/wire/names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/wire/digest.h"
#include "proto/wire/page.h"
#include "tests/proto/wire/details.h"

namespace plait::wire {
namespace {

TEST(WireNamesTest, AcceptsAndRefusesDevices) {
  for (const char* id : {"cpu", "cuda:0", "cuda:255"}) {
    EXPECT_TRUE(CheckDeviceId("device.id", id).ok()) << id;
  }
  for (const char* id : {"", "CPU", "cuda", "cuda:", "cuda:-1", "cuda:256", "cuda:1x", "cuda: 1",
                         "model:h200", "reference", "cpu:0", "cuda:99999999999999"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(CheckDeviceId("device.id", id))) << id;
    EXPECT_EQ(FieldOf(CheckDeviceId("device.id", id)), "device.id") << id;
  }
}

TEST(WireNamesTest, JobsMayNameDescribedDevices) {
  for (const char* id : {"cpu", "cuda:0", "model:h200", "model:x"}) {
    EXPECT_TRUE(CheckJobDeviceId("options.device", id).ok()) << id;
  }
  for (const char* id : {"", "model", "model:", "model:H200", "model:a b", "model:h200:0"}) {
    EXPECT_EQ(FieldOf(CheckJobDeviceId("options.device", id)), "options.device") << id;
  }
}

TEST(WireNamesTest, KnowsTheBackendsOfThisBuild) {
  for (const char* device : {"cpu", "reference", "reference:1"}) {
    EXPECT_TRUE(CheckBackend("workers", BackendOf(device)).ok()) << device;
  }
  const absl::Status status = CheckBackend("workers", BackendOf("tpu:0"));
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_EQ(FieldOf(status), "workers");
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("(cpu, reference"));
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("\"tpu\""));
}

TEST(WireNamesTest, AcceptsAndRefusesIds) {
  EXPECT_TRUE(CheckJobId("0a-z").ok());
  EXPECT_TRUE(CheckRequestId("").ok());
  EXPECT_TRUE(CheckRequestId("Ab_9-").ok());
  const std::string long_id(65, 'a');
  for (const std::string& id :
       {std::string(), std::string("A"), std::string("a/b"), std::string("a\0", 2), long_id}) {
    EXPECT_TRUE(absl::IsInvalidArgument(CheckJobId(id))) << id;
  }
  EXPECT_FALSE(CheckRequestId(long_id).ok());
  EXPECT_FALSE(CheckRequestId("a b").ok());
}

TEST(WireNamesTest, NamesTheFieldAndEscapesTheValue) {
  const absl::Status status = CheckName("worker_id", "a\nb");
  EXPECT_EQ(status.message(),
            "worker_id: must be 1 to 256 printable ASCII characters without spaces, is \"a\\nb\"");
  EXPECT_EQ(FieldOf(status), "worker_id");
  EXPECT_TRUE(CheckName("worker_id", std::string(256, 'x')).ok());
  EXPECT_FALSE(CheckName("worker_id", std::string(257, 'x')).ok());
  EXPECT_FALSE(CheckName("worker_id", "").ok());
}

TEST(WireDigestTest, RoundTrips) {
  const Digest digest = DigestOf("model");
  EXPECT_EQ(*DigestFromProto(DigestToProto(digest)), digest);
}

TEST(WireDigestTest, RefusesMalformedDigests) {
  v1::Digest good = DigestToProto(DigestOf("model"));
  for (const std::string& hash :
       {std::string(), std::string(63, 'a'), std::string(65, 'a'), std::string(64, 'A'),
        "../" + std::string(61, 'a'), std::string(63, 'a') + '\0', std::string(64, 'a') + "/1"}) {
    v1::Digest bad = good;
    bad.set_sha256_hex(hash);
    EXPECT_TRUE(absl::IsInvalidArgument(DigestFromProto(bad).status())) << hash;
  }
  good.set_size_bytes(-1);
  EXPECT_TRUE(absl::IsInvalidArgument(DigestFromProto(good).status()));
  EXPECT_EQ(FieldOf(DigestFromProto(good).status()), "digest");
  EXPECT_EQ(FieldOf(DigestFromProto(good, "model").status()), "model");
}

TEST(WirePageTest, RoundTripsPositions) {
  for (const std::string& position :
       {std::string(), std::string("12"), std::string("a\0\xff", 3)}) {
    const std::string token = PageToken("jobs/alice", position);
    EXPECT_EQ(*PagePosition("jobs/alice", token), position);
    EXPECT_TRUE(absl::IsInvalidArgument(PagePosition("jobs/bob", token).status()));
  }
  EXPECT_EQ(*PagePosition("jobs/alice", ""), "");
  EXPECT_FALSE(PagePosition("jobs/alice", "!!!").ok());
  EXPECT_EQ(FieldOf(PagePosition("jobs/alice", "MTI").status()), "page_token");
}

TEST(WirePageTest, BoundsThePageSize) {
  EXPECT_EQ(*PageSizeOf(0), 100);
  EXPECT_EQ(*PageSizeOf(7), 7);
  EXPECT_EQ(*PageSizeOf(1'000'000), 1000);
  EXPECT_TRUE(absl::IsInvalidArgument(PageSizeOf(-1).status()));
  EXPECT_EQ(FieldOf(PageSizeOf(-1).status()), "page_size");
}

}  // namespace
}  // namespace plait::wire
