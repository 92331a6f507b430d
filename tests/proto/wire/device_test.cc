#include "proto/wire/device.h"

#include <functional>
#include <limits>

#include <gtest/gtest.h>

#include "proto/wire/check_device.h"
#include "tests/proto/wire/details.h"

namespace plait::wire {
namespace {

DeviceDescription SampleDevice() {
  DeviceDescription device;
  device.id = "cuda:0";
  device.backend = "cuda";
  device.name = "a \"GPU\"\twith spaces, \xc3\xa9";
  device.fingerprint = "cuda=12.4;sm_90";
  device.instruction_set = "sm_90";
  device.threads = 132;
  device.memory_bytes = std::numeric_limits<int64_t>::max();
  device.streams_max = 16;
  device.launch_gap_us = 0.5;
  device.cross_stream_us = 1.25;
  device.bandwidth_bytes_per_us = 4.3e6;
  return device;
}

TEST(WireDeviceTest, EveryFieldComesBack) {
  const DeviceDescription device = SampleDevice();
  const absl::StatusOr<DeviceDescription> read = DeviceFromProto(DeviceToProto(device));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->id, device.id);
  // Said, and not guessed from the id.
  EXPECT_EQ(read->backend, device.backend);
  EXPECT_EQ(read->name, device.name);
  EXPECT_EQ(read->fingerprint, device.fingerprint);
  EXPECT_EQ(read->instruction_set, device.instruction_set);
  EXPECT_EQ(read->threads, device.threads);
  EXPECT_EQ(read->memory_bytes, device.memory_bytes);
  // What schedules are made by.
  EXPECT_EQ(read->streams_max, device.streams_max);
  EXPECT_EQ(read->launch_gap_us, device.launch_gap_us);
  EXPECT_EQ(read->cross_stream_us, device.cross_stream_us);
  EXPECT_EQ(read->bandwidth_bytes_per_us, device.bandwidth_bytes_per_us);
}

// It runs kernels itself, and takes times, as how they run beside each other, from a described one.
TEST(WireDeviceTest, SimulatedDevicesAreThemselvesWithTheTimesOfAnother) {
  DeviceDescription device = SampleDevice();
  device.fingerprint = "cuda;_sm_90;_simulated";
  v1::Device proto = DeviceToProto(device);
  EXPECT_TRUE(IsSimulated(proto));
  EXPECT_FALSE(IsSimulated(DeviceToProto(SampleDevice())));
  proto.set_predicted(true);
  const absl::StatusOr<DeviceDescription> read = DeviceFromProto(proto);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->backend, "cuda");
  EXPECT_EQ(read->fingerprint, device.fingerprint);
  EXPECT_EQ(read->threads, device.threads);
  EXPECT_GT(read->streams_max, 1);
  EXPECT_GT(read->bandwidth_bytes_per_us, 0);
  // A worker that says it of a device that is there is believed nothing.
  proto.set_fingerprint("cuda;_sm_90");
  EXPECT_FALSE(DeviceFromProto(proto).ok());
}

TEST(WireDeviceTest, DescribedDevicesAreThoseOfTheDaemonWhateverElseIsSaid) {
  const std::optional<v1::Device> h200 = DescribedDevice("model:h200");
  ASSERT_TRUE(h200.has_value());
  EXPECT_TRUE(h200->predicted());
  EXPECT_EQ(h200->cores(), 132);
  EXPECT_FALSE(DescribedDevice("cpu").has_value());
  v1::Device device = *h200;
  device.set_cores(7);
  const absl::StatusOr<DeviceDescription> read = DeviceFromProto(device);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->threads, 132);
  EXPECT_GT(read->streams_max, 1);
  // Workers measure.
  device = DeviceToProto(SampleDevice());
  device.set_predicted(true);
  EXPECT_TRUE(absl::IsInvalidArgument(DeviceFromProto(device).status()));
  EXPECT_EQ(FieldOf(CheckDevice(device)), "device.predicted");
}

TEST(WireDeviceTest, RefusesWhatNoDeviceSays) {
  const struct {
    const char* field;
    std::function<void(v1::Device&)> change;
  } kCases[] = {
      {"device.id", [](auto& device) { device.clear_id(); }},
      {"device.backend", [](auto& device) { device.clear_backend(); }},
      {"device.fingerprint", [](auto& device) { device.clear_fingerprint(); }},
      {"device.fingerprint", [](auto& device) { device.set_fingerprint("two words"); }},
      {"device.fingerprint", [](auto& device) { device.set_fingerprint(std::string(257, 'f')); }},
      {"device.cores", [](auto& device) { device.set_cores(0); }},
      {"device.cores", [](auto& device) { device.set_cores(-1); }},
      {"device.memory_bytes", [](auto& device) { device.set_memory_bytes(-1); }},
      {"device.streams_max", [](auto& device) { device.set_streams_max(-1); }},
      {"device.streams_max", [](auto& device) { device.set_streams_max(1025); }},
      {"device.launch_gap_us", [](auto& device) { device.set_launch_gap_us(-1); }},
      {"device.cross_stream_us",
       [](auto& device) { device.set_cross_stream_us(std::numeric_limits<double>::infinity()); }},
      {"device.bandwidth_bytes_per_us",
       [](auto& device) {
         device.set_bandwidth_bytes_per_us(std::numeric_limits<double>::quiet_NaN());
       }},
  };
  for (const auto& [field, change] : kCases) {
    v1::Device device = DeviceToProto(SampleDevice());
    change(device);
    const absl::Status status = DeviceFromProto(device).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << field;
    EXPECT_EQ(FieldOf(status), field);
  }
}

}  // namespace
}  // namespace plait::wire
