#pragma once

#include "absl/status/statusor.h"
#include "optimizer/kernels/device.h"
#include "plait/v1/capability.pb.h"

// Devices as they travel from a worker to the search: the one place where the optimizer's
// description of a device and the contract's meet. All functions are pure and thread-safe.
namespace plait::wire {

// Every field of the description. `predicted`, which a description does not have, stays unset.
v1::Device DeviceToProto(const DeviceDescription& device);

// The inverse. The message comes from a worker, which is believed nothing.
// Errors: those of CheckDevice (proto/wire/check_device.h).
absl::StatusOr<DeviceDescription> DeviceFromProto(const v1::Device& proto);

}  // namespace plait::wire
