#include "proto/wire/device.h"

#include "base/status_macros.h"
#include "proto/wire/check_device.h"

namespace plait::wire {

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
  return proto;
}

absl::StatusOr<DeviceDescription> DeviceFromProto(const v1::Device& proto) {
  PLAIT_RETURN_IF_ERROR(CheckDevice(proto));
  DeviceDescription device;
  device.id = proto.id();
  device.backend = proto.backend();
  device.name = proto.name();
  device.fingerprint = proto.fingerprint();
  device.instruction_set = proto.instruction_set();
  device.threads = proto.cores();
  device.memory_bytes = proto.memory_bytes();
  return device;
}

}  // namespace plait::wire
