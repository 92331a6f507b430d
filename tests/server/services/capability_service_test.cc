#include "base/limits.h"
#include "plait/v1/capability.grpc.pb.h"
#include "tests/server/services/services_fixture.h"

namespace plait {
namespace {

using CapabilityStub = v1::CapabilityService::Stub;
using testing::Contains;

class CapabilityServiceTest : public ServicesTest {};

TEST_F(CapabilityServiceTest, TellsVersionsNamesAndLimits) {
  const auto response = Call(&CapabilityStub::GetCapabilities, v1::GetCapabilitiesRequest());
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->version(), "1.2.3");
  EXPECT_EQ(response->engine_version(), "engine");
  EXPECT_EQ(response->opset_min(), kOpsetMin);
  EXPECT_EQ(response->opset_max(), kOpsetMax);
  EXPECT_THAT(response->search_policies(), Contains("none"));
  EXPECT_THAT(response->schedule_policies(), Contains("sequential"));
  EXPECT_THAT(response->precisions(), Contains("strict"));
  // Of what a job can be made of: a larger blob is no model, and a larger graph is not searched.
  EXPECT_EQ(response->model_bytes_max(), kModelBytesMax);
  EXPECT_EQ(response->model_nodes_max(), kSearchNodesMax);
  EXPECT_EQ(response->blob_chunk_bytes_max(), kBlobChunkBytesMax);
  EXPECT_EQ(response->budget_seconds_max(), kBudgetSecondsMax);
}

TEST_F(CapabilityServiceTest, EveryNameThatItTellsIsAccepted) {
  const auto response = Call(&CapabilityStub::GetCapabilities, v1::GetCapabilitiesRequest());
  ASSERT_TRUE(response.ok()) << response.status();
  v1::OptimizeModelRequest request = ModelRequest();
  request.set_validate_only(true);
  for (const std::string& search : response->search_policies()) {
    for (const std::string& schedule : response->schedule_policies()) {
      request.mutable_options()->set_search(search);
      request.mutable_options()->set_schedule(schedule);
      const auto checked = Call(&v1::OptimizationService::Stub::OptimizeModel, request);
      EXPECT_TRUE(checked.ok()) << search << ", " << schedule << ": " << checked.status();
    }
  }
}

TEST_F(CapabilityServiceTest, ListsTheDevicesOfConnectedWorkers) {
  EXPECT_EQ(Call(&CapabilityStub::ListDevices, v1::ListDevicesRequest())->devices_size(), 0);
  ConnectWorker("w1", "cuda:0");
  ConnectWorker("w2", "cuda:0");
  ConnectWorker("w3", "cpu");
  const auto response = Call(&CapabilityStub::ListDevices, v1::ListDevicesRequest());
  ASSERT_TRUE(response.ok()) << response.status();
  ASSERT_GE(response->devices_size(), 2);
  EXPECT_EQ(response->devices(0).device().id(), "cpu");
  EXPECT_EQ(response->devices(1).device().id(), "cuda:0");
  EXPECT_EQ(response->devices(1).device().fingerprint(), "cuda:0-fingerprint");
  EXPECT_EQ(response->devices(1).workers(), 2);
  EXPECT_EQ(response->devices(1).workers_idle(), 2);
}

TEST_F(CapabilityServiceTest, ListsDescribedDevicesWhileOutputsCanBeCompared) {
  ConnectWorker("w1", "cuda:0");
  EXPECT_EQ(Call(&CapabilityStub::ListDevices, v1::ListDevicesRequest())->devices_size(), 1);
  ConnectWorker("w2", "cpu");
  const auto response = Call(&CapabilityStub::ListDevices, v1::ListDevicesRequest());
  std::vector<std::string> predicted;
  for (const v1::AvailableDevice& entry : response->devices()) {
    if (!entry.device().predicted()) continue;
    predicted.push_back(entry.device().id());
    EXPECT_EQ(entry.workers(), 0);
  }
  EXPECT_EQ(predicted, (std::vector<std::string>{"model:a100", "model:h200", "model:l40s"}));
}

TEST_F(CapabilityServiceTest, ListsRuntimesWhoseWorkersHaveNotStarted) {
  v1::Device& fast = runtimes_.found.devices.emplace_back();
  fast.set_id("fast");
  fast.set_runtime_version("1.2");
  runtimes_.found.missing.emplace_back().set_name("slow");
  ConnectWorker("w1", "cpu");
  const auto response = Call(&CapabilityStub::ListDevices, v1::ListDevicesRequest());
  ASSERT_TRUE(response.ok()) << response.status();
  ASSERT_GE(response->devices_size(), 2);
  EXPECT_EQ(response->devices(1).device().runtime_version(), "1.2");
  EXPECT_EQ(response->devices(1).workers(), 0);
  ASSERT_EQ(response->missing_runtimes_size(), 1);
  EXPECT_EQ(response->missing_runtimes(0).name(), "slow");
}

}  // namespace
}  // namespace plait
