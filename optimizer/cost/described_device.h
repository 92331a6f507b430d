#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "optimizer/cost/kernel_blocks.h"
#include "optimizer/cost/kernel_work.h"
#include "optimizer/cost/occupancy.h"
#include "optimizer/cost/profile.h"
#include "optimizer/kernels/device.h"
#include "optimizer/kernels/kernel_catalog.h"
#include "optimizer/kernels/lone_kernel.h"

namespace plait {

// A GPU that is not at hand, as numbers from its data sheet and from what others have measured: a
// constant, in the file of its name. Rates are per microsecond, of fp32, and of the whole device
// where nothing else is said.
//
// What is predicted from them orders rewrites that save kernels or bytes, and tells roughly what
// running beside each other gains. It chooses no algorithm, layout or tile, and says nothing about
// differences below a tenth. It is never a latency.
struct DescribedDevice {
  absl::string_view name;         // jobs name it "model:<name>"
  absl::string_view title;        // the maker's name of it
  int multiprocessors = 1;        // SMs: blocks that run side by side without sharing one
  Multiprocessor multiprocessor;  // what each of them has
  double flops_per_us = 0;        // a multiply-add counts as two
  double tf32_flops_per_us = 0;   // of tensor cores; 0: unknown, and then that of fp32
  double half_flops_per_us = 0;   // the same of numbers of 16 bits, with sums in fp32
  double bytes_per_us = 0;        // of memory, as a copy of it reaches
  double l2_bytes_per_us = 0;     // of the second cache
  double multiprocessor_bytes_per_us =
      0;  // that one multiprocessor reads at most, wherever it lies
  int64_t l2_bytes = 0;
  int64_t memory_bytes = 0;
  double kernel_us = 0;             // of every kernel beside its work: see Profile
  double product_us = 0;            // of kernels that multiply tiles, to fill and drain them
  double envelope_kernel_us = 2.5;  // as kernel_us, on the back of an envelope
  double cross_stream_us = 0;       // added where a kernel waits for another stream
  int streams_max = 1;

  // Shares of flops_per_us that a multiprocessor reaches in blocks that multiply tiles of 128x128
  // and of 64x64, and in those that compute element by element: as an H200 did.
  double large_tile_share = 0.8;
  double small_tile_share = 0.45;
  double element_share = 0.08;
};

#define PLAIT_DESCRIBED_DEVICE(name, Name) extern const DescribedDevice k##Name##Device;
#include "optimizer/cost/described_devices.def"
#undef PLAIT_DESCRIBED_DEVICE

// The device at the rate of TF32, or of 16 bits, where it multiplies tiles; what computes element
// by element stays.
DescribedDevice InTf32(DescribedDevice device);
DescribedDevice In16Bits(DescribedDevice device);

// In the order of described_devices.def.
absl::Span<const DescribedDevice* const> DescribedDevices();

// "h200" of "model:h200"; empty where the id is none of a described device.
absl::string_view DescribedName(absl::string_view device_id);

// Of "model:h200". Errors: NotFound naming the devices there are.
absl::StatusOr<const DescribedDevice*> FindDescribedDevice(absl::string_view device_id);

// What a search is told of it: backend "model". `threads` are its multiprocessors; kernels have
// width 1, so that none of them runs alone.
DeviceDescription DescriptionOf(const DescribedDevice& device);

// How much of what sets kernels apart is looked at.
enum class PredictionDetail {
  // Blocks, tiles, caches, and what kernels take from each other.
  kBlocks,
  // envelope_kernel_us, and 60 % of flops_per_us and bytes_per_us, whatever the kernel; values stay
  // in the second cache, and it takes nothing from others. The usual estimate on the back of an
  // envelope, to check the other one against.
  kEnvelope,
};

// Each constant times or by up to 1.3, log-uniform and independent: rates, fixed times and shares,
// and nothing that a device has so many of. Equal seeds draw alike.
DescribedDevice DrawnDevice(DescribedDevice device, uint64_t seed);

// By what it may round its operands to, a kernel multiplies tiles at one of these rates.
enum class TileRate { kFp32, kTf32, k16Bits };

// A kernel as a described device runs it, whatever its rates and times are.
struct DescribedKernel {
  KernelWork work;
  KernelBlocks blocks;
  TileRate rate = TileRate::kFp32;
};

// How long it takes. All times of a profile are the same prediction. Pure.
Profile PriceOn(const DescribedDevice& device, const DescribedKernel& kernel,
                PredictionDetail detail = PredictionDetail::kBlocks);

// Says how long kernels take on a described device, of the families that its catalog offers
// (gpu_worker/backends/model/offers). Nothing runs, and equal questions have equal answers.
//
// A kernel is blocks, which are given to multiprocessors in rounds. It takes kernel_us, product_us
// if it multiplies tiles, and the longest of three: its rounds of multiply-adds, by blocks whose
// tiles may stick out of the result; its weights, and values beyond half of the second cache, from
// memory; its other values from that cache. Few blocks read no more than their multiprocessors can.
// Forms in TF32 ("tf32/auto") and in 16 bits ("fp16/auto", "bf16/auto") multiply tiles at those
// rates, and what lies in 16 bits takes half of the bytes.
// (S. Williams et al., Roofline, CACM 2009; tiles and rounds as in NVIDIA's Matrix Multiplication
// Background User's Guide.) Thread-safe.
class DescribedProfiler : public Profiler {
 public:
  // Without a catalog kernels that plait generates take what the worst of their family does. Both
  // must outlive the profiler.
  explicit DescribedProfiler(const DescribedDevice& device,
                             PredictionDetail detail = PredictionDetail::kBlocks,
                             const KernelCatalog* catalog = nullptr)
      : device_(device), detail_(detail), catalog_(catalog) {}

  // Never fails. A key that describes no kernel of these families has a profile without samples.
  // All times of a profile are the same prediction.
  absl::StatusOr<std::vector<Profile>> Measure(absl::Span<const ProfileRequest> requests) override;

  // Of one kernel, as Measure.
  Profile Predict(const LoneKernel& lone) const;

  // nullopt: the kernel is none of these families.
  std::optional<DescribedKernel> Describe(const LoneKernel& lone) const;

 private:
  const DescribedDevice& device_;
  const PredictionDetail detail_;
  const KernelCatalog* const catalog_;
};

}  // namespace plait
