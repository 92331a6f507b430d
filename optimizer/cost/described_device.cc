#include "optimizer/cost/described_device.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/random.h"
#include "optimizer/cost/predicted_profiler.h"
#include "optimizer/ops/shared/op_spec.h"

namespace plait {
namespace {

constexpr absl::string_view kPrefix = "model:";
// How the variants of kernels begin that may round what they multiply to TF32, and of those whose
// operands lie in 16 bits.
constexpr absl::string_view kTf32Forms = "tf32/";
constexpr absl::string_view kFp16Forms = "fp16/";
constexpr absl::string_view kBf16Forms = "bf16/";
// Of its rates that a kernel is said to reach on the back of an envelope.
constexpr double kEnvelopeShare = 0.6;

constexpr const DescribedDevice* kDevices[] = {
#define PLAIT_DESCRIBED_DEVICE(name, Name) &k##Name##Device,
#include "optimizer/cost/described_devices.def"
#undef PLAIT_DESCRIBED_DEVICE
};

double ShareOf(const DescribedDevice& device, BlockKind kind) {
  switch (kind) {
    case BlockKind::kLargeTile:
      return device.large_tile_share;
    case BlockKind::kSmallTile:
      return device.small_tile_share;
    case BlockKind::kElements:
      return device.element_share;
  }
  return device.element_share;
}

// 0: the rate is unknown, and then that of fp32.
DescribedDevice AtRate(double flops_per_us, DescribedDevice device) {
  if (flops_per_us == 0) return device;
  device.element_share *= device.flops_per_us / flops_per_us;
  device.flops_per_us = flops_per_us;
  return device;
}

TileRate RateOf(absl::string_view form) {
  if (absl::StartsWith(form, kTf32Forms)) return TileRate::kTf32;
  const bool is_half = absl::StartsWith(form, kFp16Forms) || absl::StartsWith(form, kBf16Forms);
  return is_half ? TileRate::k16Bits : TileRate::kFp32;
}

DescribedDevice AtRateOf(TileRate rate, const DescribedDevice& device) {
  switch (rate) {
    case TileRate::kTf32:
      return InTf32(device);
    case TileRate::k16Bits:
      return In16Bits(device);
    case TileRate::kFp32:
      return device;
  }
  return device;
}

Profile ProfileOf(double latency_us, const KernelWork& work) {
  Profile profile;
  profile.latency_us_median = latency_us;
  profile.latency_us_p10 = latency_us;
  profile.samples = 1;
  profile.flops = work.flops;
  return profile;
}

Profile OnEnvelope(const DescribedDevice& device, const KernelWork& work) {
  const double compute_us = static_cast<double>(work.flops) / device.flops_per_us;
  const double memory_us = work.weight_bytes / device.bytes_per_us;
  Profile profile =
      ProfileOf(device.envelope_kernel_us + std::max(compute_us, memory_us) / kEnvelopeShare, work);
  profile.compute_share = 0;
  return profile;
}

Profile ProfileInBlocks(const DescribedDevice& device, const KernelWork& work,
                        const KernelBlocks& blocks) {
  const auto count = static_cast<double>(blocks.blocks);
  const double multiprocessors = device.multiprocessors;
  const auto rounds =
      static_cast<double>((blocks.blocks + device.multiprocessors - 1) / device.multiprocessors);
  const double block_us = blocks.flops_of_block * multiprocessors /
                          (device.flops_per_us * ShareOf(device, blocks.kind));
  // Half: what is written takes room as well, and so does what runs beside it.
  const bool stays = work.value_bytes <= 0.5 * static_cast<double>(device.l2_bytes);
  const double memory_bytes = work.weight_bytes + (stays ? 0 : work.value_bytes);
  const double cache_bytes =
      (stays ? work.value_bytes : 0) + static_cast<double>(blocks.partial_bytes);
  const double readers = std::min(count, multiprocessors);
  const double bytes_us =
      std::max({memory_bytes / device.bytes_per_us, cache_bytes / device.l2_bytes_per_us,
                (memory_bytes + cache_bytes) / (readers * device.multiprocessor_bytes_per_us)});
  const double work_us = std::max(rounds * block_us, bytes_us);
  // Between the steps of a recurrence all blocks meet, which costs them as much as to begin.
  const double fixed_us = device.kernel_us * static_cast<double>(blocks.steps_in_turn) +
                          (blocks.kind == BlockKind::kElements ? 0 : device.product_us);
  Profile profile = ProfileOf(fixed_us + work_us, work);
  // It takes the multiply-adds that it makes, and keeps its blocks' places for as long as it works.
  const double computing_us = count * block_us / multiprocessors;
  const double slots = multiprocessors * blocks.blocks_side_by_side;
  const double holding_us = std::min(1.0, count / slots) * work_us;
  profile.compute_share =
      std::min(1.0, std::max(computing_us, holding_us) / profile.latency_us_median);
  // What it takes of the memory's bandwidth.
  profile.bytes = static_cast<int64_t>(memory_bytes);
  return profile;
}

}  // namespace

absl::Span<const DescribedDevice* const> DescribedDevices() { return kDevices; }

absl::string_view DescribedName(absl::string_view device_id) {
  return absl::ConsumePrefix(&device_id, kPrefix) ? device_id : absl::string_view();
}

absl::StatusOr<const DescribedDevice*> FindDescribedDevice(absl::string_view device_id) {
  std::string names;
  for (const DescribedDevice* device : kDevices) {
    if (device->name == DescribedName(device_id)) return device;
    absl::StrAppend(&names, names.empty() ? "" : ", ", kPrefix, device->name);
  }
  return absl::NotFoundError(
      absl::StrCat("no device \"", device_id, "\" is described (there are: ", names, ")"));
}

DeviceDescription DescriptionOf(const DescribedDevice& device) {
  DeviceDescription description;
  description.id = absl::StrCat(kPrefix, device.name);
  description.backend = std::string(kDescribedBackend);
  description.name = std::string(device.title);
  description.fingerprint = absl::StrCat(kDescribedBackend, ";_", device.name);
  description.threads = device.multiprocessors;
  description.memory_bytes = device.memory_bytes;
  description.streams_max = device.streams_max;
  description.cross_stream_us = device.cross_stream_us;
  description.bandwidth_bytes_per_us = device.bytes_per_us;
  return description;
}

DescribedDevice InTf32(DescribedDevice device) { return AtRate(device.tf32_flops_per_us, device); }

DescribedDevice In16Bits(DescribedDevice device) {
  return AtRate(device.half_flops_per_us, device);
}

DescribedDevice DrawnDevice(DescribedDevice device, uint64_t seed) {
  Random random(seed);
  const double spread = std::log(1.3);
  for (double* constant :
       {&device.flops_per_us, &device.bytes_per_us, &device.l2_bytes_per_us,
        &device.multiprocessor_bytes_per_us, &device.kernel_us, &device.product_us,
        &device.envelope_kernel_us, &device.cross_stream_us, &device.large_tile_share,
        &device.small_tile_share, &device.element_share, &device.tf32_flops_per_us,
        &device.half_flops_per_us}) {
    *constant *= std::exp(spread * (2 * random.Uniform() - 1));
  }
  return device;
}

Profile PriceOn(const DescribedDevice& device, const DescribedKernel& kernel,
                PredictionDetail detail) {
  if (kernel.blocks.blocks == 0) {
    Profile nothing = ProfileOf(0, {});
    nothing.compute_share = 0;
    return nothing;
  }
  const DescribedDevice priced = AtRateOf(kernel.rate, device);
  return detail == PredictionDetail::kEnvelope
             ? OnEnvelope(priced, kernel.work)
             : ProfileInBlocks(priced, kernel.work, kernel.blocks);
}

std::optional<DescribedKernel> DescribedProfiler::Describe(const LoneKernel& lone) const {
  std::optional<KernelBlocks> blocks =
      BlocksOf(lone, device_.multiprocessors, device_.multiprocessor, catalog_);
  if (!blocks.has_value()) return std::nullopt;
  return DescribedKernel{.work = WorkOfKernel(lone),
                         .blocks = *std::move(blocks),
                         .rate = RateOf(lone.kernel.variant)};
}

Profile DescribedProfiler::Predict(const LoneKernel& lone) const {
  const std::optional<DescribedKernel> kernel = Describe(lone);
  return kernel.has_value() ? PriceOn(device_, *kernel, detail_) : Profile();
}

absl::StatusOr<std::vector<Profile>> DescribedProfiler::Measure(
    absl::Span<const ProfileRequest> requests) {
  return PredictEach(requests, [this](const LoneKernel& lone) { return Predict(lone); });
}

}  // namespace plait
