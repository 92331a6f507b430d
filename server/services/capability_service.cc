#include "server/services/capability_service.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "proto/wire/device.h"
#include "proto/wire/names.h"
#include "proto/wire/options.h"
#include "server/services/rpc_scope.h"

namespace plait {
namespace {

// Runtimes of this machine, whose workers start when a job measures in them.
void AddUnconnected(const std::vector<v1::Device>& runtimes,
                    std::vector<DeviceAvailability>& devices) {
  for (const v1::Device& runtime : runtimes) {
    const auto is_it = [&](const DeviceAvailability& entry) {
      return entry.device.id() == runtime.id() &&
             entry.device.fingerprint() == runtime.fingerprint();
    };
    if (std::none_of(devices.begin(), devices.end(), is_it)) devices.push_back({runtime, 0, 0});
  }
  std::sort(devices.begin(), devices.end(), [](const auto& a, const auto& b) {
    return std::pair(a.device.id(), a.device.fingerprint()) <
           std::pair(b.device.id(), b.device.fingerprint());
  });
}

// Jobs can name those that are only described while there is a worker that compares outputs.
void AddDescribed(std::vector<DeviceAvailability>& devices) {
  const bool has_cpu = std::any_of(devices.begin(), devices.end(), [](const auto& entry) {
    return entry.device.id() == wire::kComparingDevice && entry.workers > 0;
  });
  if (!has_cpu) return;
  for (v1::Device& described : wire::DescribedDevices()) {
    devices.push_back({std::move(described), 0, 0});
  }
}

}  // namespace

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
    std::vector<DeviceAvailability> devices = context_.pool.Devices();
    if (context_.runtimes != nullptr) {
      const Runtimes::Found found = context_.runtimes->Await(kRuntimesWait);
      AddUnconnected(found.devices, devices);
      for (const v1::MissingRuntime& missing : found.missing) {
        *response->add_missing_runtimes() = missing;
      }
    }
    AddDescribed(devices);
    for (const DeviceAvailability& entry : devices) {
      v1::AvailableDevice& device = *response->add_devices();
      *device.mutable_device() = entry.device;
      if (wire::IsSimulated(entry.device)) device.mutable_device()->set_predicted(true);
      device.set_workers(entry.workers);
      device.set_workers_idle(entry.workers_idle);
    }
    return absl::OkStatus();
  });
}

}  // namespace plait
