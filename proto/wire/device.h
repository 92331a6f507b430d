#pragma once

#include "absl/status/statusor.h"
#include "optimizer/kernels/device.h"
#include "plait/v1/capability.pb.h"

// Devices as they travel from a worker to the search: the one place where the optimizer's
// description of a device and the contract's meet. All functions are pure and thread-safe.
namespace plait::wire {

// Every field of the description. `versions` and `predicted`, which a description does not have,
// stay unset.
v1::Device DeviceToProto(const DeviceDescription& device);

// The inverse. The message comes from a worker, which is believed nothing: ids and fingerprints
// that cannot be stored or shown, and numbers that no device has, are refused.
// Errors: InvalidArgument naming the field, what it is and what is allowed.
absl::StatusOr<DeviceDescription> DeviceFromProto(const v1::Device& proto);

}  // namespace plait::wire
