#include "server/services/stream_slots.h"

#include <optional>

#include "tests/server/services/services_fixture.h"

namespace plait {
namespace {

using testing::AllOf;

constexpr auto kRefused = v1::ERROR_REASON_QUOTA_EXCEEDED;

TEST(StreamSlotsTest, RefusesATenantsStreamBeyondItsShareAndNobodyElses) {
  StreamSlots slots(10, 2);
  const auto first = slots.Open("alice");
  const auto second = slots.Open("alice");
  EXPECT_THAT(slots.Open("alice").status(), AllOf(HasReason(kRefused), Says("tenant alice has 2")));
  EXPECT_TRUE(slots.Open("bob").ok());
  EXPECT_EQ(slots.open(), 2);
}

TEST(StreamSlotsTest, RefusesAStreamBeyondThoseOfAllTenants) {
  StreamSlots slots(2, 2);
  const auto first = slots.Open("alice");
  const auto second = slots.Open("bob");
  EXPECT_THAT(slots.Open("carol").status(), AllOf(HasReason(kRefused), Says("server has 2")));
}

TEST(StreamSlotsTest, AStreamThatIsClosedMakesRoom) {
  StreamSlots slots(1, 1);
  for (int i = 0; i < 3; ++i) {
    absl::StatusOr<StreamSlots::Slot> slot = slots.Open("alice");
    ASSERT_TRUE(slot.ok()) << slot.status();
    // A slot that moves is still one slot.
    const StreamSlots::Slot moved = *std::move(slot);
    EXPECT_EQ(slots.open(), 1);
    EXPECT_FALSE(slots.Open("alice").ok());
  }
  EXPECT_EQ(slots.open(), 0);
}

class StreamsTest : public ServicesTest {
 protected:
  // A watcher that has seen its job; nothing more comes until the job changes.
  struct Watcher {
    std::unique_ptr<grpc::ClientContext> context;
    std::unique_ptr<grpc::ClientReader<v1::WatchJobResponse>> reader;
  };

  Watcher Watch(const std::string& job_id, absl::string_view tenant) {
    v1::WatchJobRequest request;
    request.set_job_id(job_id);
    Watcher watcher;
    watcher.context = ContextOf(tenant);
    watcher.reader =
        v1::OptimizationService::Stub(channel()).WatchJob(watcher.context.get(), request);
    return watcher;
  }
};

TEST_F(StreamsTest, AWatcherBeyondTheLimitIsRefusedAndCallsAreNot) {
  const std::string job_id = SubmitJob("alice").id();
  std::vector<Watcher> watchers;
  v1::WatchJobResponse response;
  for (int i = 0; i < kTenantStreamsMax; ++i) {
    watchers.push_back(Watch(job_id, "alice"));
    ASSERT_TRUE(watchers.back().reader->Read(&response));
  }
  Watcher refused = Watch(job_id, "alice");
  EXPECT_FALSE(refused.reader->Read(&response));
  EXPECT_THAT(wire::FromGrpcStatus(refused.reader->Finish()), HasReason(kRefused));
  v1::GetJobRequest request;
  request.set_job_id(job_id);
  EXPECT_TRUE(Call(&v1::OptimizationService::Stub::GetJob, request, "alice").ok());
  for (Watcher& watcher : watchers) watcher.context->TryCancel();
}

}  // namespace
}  // namespace plait
