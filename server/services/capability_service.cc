#include "server/services/capability_service.h"

#include "base/limits.h"
#include "proto/wire/options.h"
#include "server/services/rpc_scope.h"

namespace plait {

grpc::Status CapabilityServiceHandler::GetCapabilities(grpc::ServerContext* context,
                                                       const v1::GetCapabilitiesRequest*,
                                                       v1::GetCapabilitiesResponse* response) {
  return AnswerRpc(context_, *context, Method::kGetCapabilities, [&](const Caller&) {
    response->set_version(context_.version);
    response->set_engine_version(context_.engine_version);
    response->set_opset_min(kOpsetMin);
    response->set_opset_max(kOpsetMax);
    // The lists that requests are checked against.
    for (const absl::string_view name : wire::SearchPolicies()) {
      response->add_search_policies(std::string(name));
    }
    for (const absl::string_view name : wire::SchedulePolicies()) {
      response->add_schedule_policies(std::string(name));
    }
    for (const absl::string_view name : wire::Bodies()) response->add_bodies(std::string(name));
    for (const absl::string_view name : wire::Precisions()) {
      response->add_precisions(std::string(name));
    }
    // What a job can be made of, not what an upload or an import takes.
    response->set_model_bytes_max(kModelBytesMax);
    response->set_model_nodes_max(kSearchNodesMax);
    response->set_blob_chunk_bytes_max(kBlobChunkBytesMax);
    response->set_budget_seconds_max(kBudgetSecondsMax);
    for (const std::string& warning : context_.warnings) response->add_warnings(warning);
    return absl::OkStatus();
  });
}

grpc::Status CapabilityServiceHandler::ListDevices(grpc::ServerContext* context,
                                                   const v1::ListDevicesRequest*,
                                                   v1::ListDevicesResponse* response) {
  return AnswerRpc(context_, *context, Method::kListDevices, [&](const Caller&) {
    // As the workers said; the names in it were checked when they called.
    for (const DeviceAvailability& entry : context_.pool.Devices()) {
      v1::AvailableDevice& device = *response->add_devices();
      *device.mutable_device() = entry.device;
      device.set_workers(entry.workers);
      device.set_workers_idle(entry.workers_idle);
    }
    return absl::OkStatus();
  });
}

}  // namespace plait
