#include "proto/wire/device.h"

#include "base/simulated_device.h"
#include "base/status_macros.h"
#include "optimizer/cost/described_device.h"
#include "proto/wire/check_device.h"

namespace plait::wire {

bool IsSimulated(const v1::Device& device) { return IsSimulatedFingerprint(device.fingerprint()); }

// Field by field: a field that is added here must be added to the inverse.
v1::Device DeviceToProto(const DeviceDescription& device) {
  v1::Device proto;
  proto.set_id(device.id);
  proto.set_backend(device.backend);
  proto.set_name(device.name);
  proto.set_fingerprint(device.fingerprint);
  proto.set_instruction_set(device.instruction_set);
  proto.set_cores(device.threads);
  proto.set_memory_bytes(device.memory_bytes);
  proto.set_streams_max(device.streams_max);
  proto.set_launch_gap_us(device.launch_gap_us);
  proto.set_cross_stream_us(device.cross_stream_us);
  proto.set_bandwidth_bytes_per_us(device.bandwidth_bytes_per_us);
  return proto;
}

absl::StatusOr<DeviceDescription> DeviceFromProto(const v1::Device& proto) {
  if (proto.predicted() && !DescribedName(proto.id()).empty()) {
    PLAIT_ASSIGN_OR_RETURN(const plait::DescribedDevice* const found,
                           FindDescribedDevice(proto.id()));
    return DescriptionOf(*found);
  }
  v1::Device said = proto;
  // The daemon's word, of a simulated device, and no worker's.
  if (IsSimulated(proto)) said.clear_predicted();
  PLAIT_RETURN_IF_ERROR(CheckDevice(said));
  DeviceDescription device;
  device.id = proto.id();
  device.backend = proto.backend();
  device.name = proto.name();
  device.fingerprint = proto.fingerprint();
  device.instruction_set = proto.instruction_set();
  device.threads = proto.cores();
  device.memory_bytes = proto.memory_bytes();
  // A simulated one has the times of a described one, and so all that goes with these.
  const DeviceDescription described = DescriptionOf(kH200Device);
  const bool is_simulated = IsSimulated(proto);
  device.streams_max = is_simulated ? described.streams_max : proto.streams_max();
  device.launch_gap_us = is_simulated ? described.launch_gap_us : proto.launch_gap_us();
  device.cross_stream_us = is_simulated ? described.cross_stream_us : proto.cross_stream_us();
  device.bandwidth_bytes_per_us =
      is_simulated ? described.bandwidth_bytes_per_us : proto.bandwidth_bytes_per_us();
  return device;
}

std::vector<v1::Device> DescribedDevices() {
  std::vector<v1::Device> devices;
  for (const plait::DescribedDevice* const described : plait::DescribedDevices()) {
    devices.push_back(DeviceToProto(DescriptionOf(*described)));
    devices.back().set_predicted(true);
  }
  return devices;
}

std::optional<v1::Device> DescribedDevice(absl::string_view id) {
  for (v1::Device& device : DescribedDevices()) {
    if (device.id() == id) return std::move(device);
  }
  return std::nullopt;
}

}  // namespace plait::wire
