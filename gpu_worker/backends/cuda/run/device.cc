#include "gpu_worker/backends/cuda/run/device.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gpu_worker/backends/cuda/cublaslt/library.h"
#include "gpu_worker/backends/cuda/cudnn/library.h"
#include "gpu_worker/backends/cuda/driver/nvrtc.h"
#include "optimizer/cost/described_device.h"

namespace plait::cuda {
namespace {

// Of the memory's rate, what copies reach.
constexpr double kMemoryShare = 0.9;

}  // namespace

LibraryVersions FindLibraryVersions() {
  LibraryVersions versions;
  if (const Result<const CudnnLibrary*> cudnn = CudnnLibrary::Get(); cudnn.ok()) {
    versions.cudnn = cudnn.value()->Version();
  }
  if (const Result<const CublasLtLibrary*> cublaslt = CublasLtLibrary::Get(); cublaslt.ok()) {
    versions.cublaslt = absl::StrCat(cublaslt.value()->get_version());
  }
  if (const Result<std::string> nvrtc = NvrtcVersion(); nvrtc.ok()) versions.nvrtc = nvrtc.value();
  return versions;
}

DeviceDescription DescribeGpu(int index, const DeviceFacts& facts, const LibraryVersions& versions,
                              bool is_simulated, int64_t memory_bytes_max) {
  DeviceDescription device;
  device.id = absl::StrCat("cuda:", index);
  device.backend = "cuda";
  device.name = facts.name;
  device.instruction_set = absl::StrCat("sm_", facts.sm_major, facts.sm_minor);
  device.threads = std::max(1, facts.multiprocessors);
  device.memory_bytes =
      memory_bytes_max > 0 ? std::min(memory_bytes_max, facts.memory_bytes) : facts.memory_bytes;
  // Of a GPU they are measured (graph_costs.h).
  device.streams_max = is_simulated ? kH200Device.streams_max : 1;
  device.cross_stream_us = is_simulated ? kH200Device.cross_stream_us : 0;
  device.bandwidth_bytes_per_us = kMemoryShare * facts.memory_bytes_per_us;
  const auto or_none = [](const std::string& version) {
    return version.empty() ? "none" : version;
  };
  device.fingerprint = absl::StrCat(
      "cuda; ", facts.name, "; ", device.instruction_set, "; sms=", facts.multiprocessors,
      "; memory=", facts.memory_bytes, "; driver=", facts.driver_version,
      "; cudnn=", or_none(versions.cudnn), "; cublaslt=", or_none(versions.cublaslt),
      "; nvrtc=", or_none(versions.nvrtc), is_simulated ? "; simulated" : "");
  // A fingerprint has no spaces, because it is a name in listings and on the wire.
  absl::StrReplaceAll({{" ", "_"}}, &device.fingerprint);
  return device;
}

}  // namespace plait::cuda
