#include "proto/wire/device.h"

#include <functional>
#include <limits>

#include <gtest/gtest.h>

namespace plait::wire {
namespace {

DeviceDescription SampleDevice() {
  DeviceDescription device;
  device.id = "model:h200";
  device.backend = "cuda";
  device.name = "a \"GPU\"\twith spaces, \xc3\xa9";
  device.fingerprint = "cuda=12.4;sm_90";
  device.instruction_set = "sm_90";
  device.threads = 132;
  device.memory_bytes = std::numeric_limits<int64_t>::max();
  return device;
}

TEST(WireDeviceTest, EveryFieldComesBack) {
  const DeviceDescription device = SampleDevice();
  const absl::StatusOr<DeviceDescription> read = DeviceFromProto(DeviceToProto(device));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->id, device.id);
  // Said, and not guessed from the id: the model of a GPU has the kernels of one.
  EXPECT_EQ(read->backend, device.backend);
  EXPECT_EQ(read->name, device.name);
  EXPECT_EQ(read->fingerprint, device.fingerprint);
  EXPECT_EQ(read->instruction_set, device.instruction_set);
  EXPECT_EQ(read->threads, device.threads);
  EXPECT_EQ(read->memory_bytes, device.memory_bytes);
}

TEST(WireDeviceTest, RefusesWhatNoDeviceSays) {
  const std::function<void(v1::Device&)> kChanges[] = {
      [](auto& device) { device.clear_id(); },
      [](auto& device) { device.clear_backend(); },
      [](auto& device) { device.clear_fingerprint(); },
      [](auto& device) { device.set_fingerprint("two words"); },
      [](auto& device) { device.set_fingerprint(std::string(257, 'f')); },
      [](auto& device) { device.set_cores(0); },
      [](auto& device) { device.set_cores(-1); },
      [](auto& device) { device.set_memory_bytes(-1); },
  };
  int number = 0;
  for (const auto& change : kChanges) {
    v1::Device device = DeviceToProto(SampleDevice());
    change(device);
    EXPECT_TRUE(absl::IsInvalidArgument(DeviceFromProto(device).status())) << number;
    ++number;
  }
}

}  // namespace
}  // namespace plait::wire
