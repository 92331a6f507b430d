#include "plait/admin/v1/admin.grpc.pb.h"
#include "tests/server/services/services_fixture.h"

namespace plait {
namespace {

using AdminStub = admin::v1::AdminService::Stub;

class AdminServiceTest : public ServicesTest {
 protected:
  absl::StatusOr<admin::v1::GetServerStateResponse> State() {
    return Call(&AdminStub::GetServerState, admin::v1::GetServerStateRequest());
  }
  absl::StatusOr<admin::v1::DrainServerResponse> Drain() {
    return Call(&AdminStub::DrainServer, admin::v1::DrainServerRequest());
  }
};

TEST_F(AdminServiceTest, TellsWhatTheServerHas) {
  SubmitJob("alice");
  SubmitJob("bob");
  ASSERT_TRUE(stores_.jobs->Acquire({"runner", {}, absl::Minutes(1)})->has_value());
  Give("another blob");
  ConnectWorker("w1", "cpu");
  const auto state = State();
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_EQ(state->state(), admin::v1::SERVER_STATE_SERVING);
  EXPECT_EQ(state->version(), "1.2.3");
  EXPECT_EQ(state->engine_version(), "engine");
  EXPECT_EQ(state->start_time().seconds(), absl::ToUnixSeconds(context_->started_at));
  EXPECT_EQ(state->jobs_queued(), 1);
  EXPECT_EQ(state->jobs_running(), 1);
  ASSERT_EQ(state->workers_size(), 1);
  EXPECT_EQ(state->workers(0).worker_id(), "w1");
  EXPECT_EQ(state->blobs(), 2);
  EXPECT_EQ(state->blob_bytes(), 7 + 12);
  EXPECT_EQ(state->profiles(), 0);
}

TEST_F(AdminServiceTest, DrainsForGood) {
  SubmitJob();
  ASSERT_TRUE(stores_.jobs->Acquire({"runner", {}, absl::Minutes(1)})->has_value());
  EXPECT_EQ(Drain()->jobs_running(), 1);
  EXPECT_EQ(Drain()->jobs_running(), 1);
  EXPECT_TRUE(draining_);
  EXPECT_EQ(State()->state(), admin::v1::SERVER_STATE_DRAINING);
  EXPECT_THAT(Call(&v1::OptimizationService::Stub::OptimizeModel, ModelRequest()).status(),
              HasReason(v1::ERROR_REASON_DRAINING));
}

}  // namespace
}  // namespace plait
