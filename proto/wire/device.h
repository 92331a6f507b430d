#pragma once

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "optimizer/kernels/device.h"
#include "plait/v1/capability.pb.h"

// Devices as they travel from a worker to the search: the one place where the optimizer's
// description of a device and the contract's meet. All functions are pure and thread-safe.
namespace plait::wire {

// Whether nothing is measured on the worker's device, because it is simulated: its kernels run, and
// times are those of a described device. To the search it is `predicted`.
bool IsSimulated(const v1::Device& device);

// What a worker tells of its device: how kernels run beside each other there is not part of it.
// `predicted`, which a description does not have, stays unset.
v1::Device DeviceToProto(const DeviceDescription& device);

// The inverse. The message comes from a worker, which is believed nothing; of a described device,
// as the daemon lists them, only its id is read, and of a simulated one how kernels run beside each
// other is that of a described one. Errors: those of CheckDevice
// (proto/wire/check_device.h); NotFound for one that is not described.
absl::StatusOr<DeviceDescription> DeviceFromProto(const v1::Device& proto);

// The devices that are described and not at hand (optimizer/cost/described_device.h), with
// `predicted` set.
std::vector<v1::Device> DescribedDevices();

// The one with this id; nothing when there is none.
std::optional<v1::Device> DescribedDevice(absl::string_view id);

}  // namespace plait::wire
