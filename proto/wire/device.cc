#include "proto/wire/device.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "proto/wire/error.h"
#include "proto/wire/names.h"

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
  PLAIT_RETURN_IF_ERROR(CheckName("device.id", proto.id()));
  // Never guessed from the id: "model:h200" has the kernels of cuda.
  PLAIT_RETURN_IF_ERROR(CheckName("device.backend", proto.backend()));
  PLAIT_RETURN_IF_ERROR(CheckName("device.fingerprint", proto.fingerprint()));
  // A kernel's share of the device is a part of it.
  if (proto.cores() < 1) {
    return Error(v1::ERROR_REASON_INVALID_REQUEST,
                 absl::StrCat("device.cores: must be positive, is ", proto.cores()));
  }
  if (proto.memory_bytes() < 0) {
    return Error(v1::ERROR_REASON_INVALID_REQUEST,
                 absl::StrCat("device.memory_bytes: must be 0 or more, is ", proto.memory_bytes()));
  }
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
