#include "bench/gpu/session.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "bench/gpu/fake_device.h"
#include "bench/gpu/probe_kernels.h"
#include "gpu_worker/backends/cuda/cublaslt/library.h"
#include "gpu_worker/backends/cuda/cudnn/library.h"
#include "gpu_worker/backends/cuda/driver/nvml.h"
#include "gpu_worker/backends/cuda/driver/nvrtc.h"
#include "gpu_worker/backends/cuda/run/device_description.h"

namespace plait::cuda {

#define PLAIT_CANDIDATE_SOURCE(name, constant) extern const CandidateSource constant;
#include "gpu_worker/backends/cuda/candidate_sources.def"
#undef PLAIT_CANDIDATE_SOURCE

namespace {

constexpr size_t kAlignment = kDeviceAlignmentBytes;
constexpr size_t kMemoryBytesMax = size_t{24} << 30;
constexpr size_t kFakeMemoryBytes = size_t{1} << 30;
constexpr size_t kStagingBytes = size_t{16} << 20;

Session::Listing EnumerateReal(const CudaDevice& description, const Problem& problem,
                               Precision precision, MemoryLayout layout) {
  Session::Listing listing;
  for (const CandidateSource* source : {
#define PLAIT_CANDIDATE_SOURCE(name, constant) &constant,
#include "gpu_worker/backends/cuda/candidate_sources.def"
#undef PLAIT_CANDIDATE_SOURCE
       }) {
    // Take() aligns every operand so.
    auto candidates = source->enumerate(problem, precision, layout, OperandPlaces(), description);
    if (!candidates.ok()) {
      listing.errors.push_back(std::string(source->name) + ": " + candidates.error().message);
      continue;
    }
    for (auto& candidate : candidates.value()) listing.candidates.push_back(std::move(candidate));
  }
  return listing;
}

std::string CudnnVersion() {
  const Result<const CudnnLibrary*> library = CudnnLibrary::Get();
  return library.ok() ? library.value()->Version() : "none";
}

std::string CublasLtVersion() {
  const Result<const CublasLtLibrary*> library = CublasLtLibrary::Get();
  return library.ok() ? std::to_string(library.value()->get_version()) : "none";
}

std::string FingerprintOf(const DeviceFacts& facts) {
  return facts.name + "; driver " + std::to_string(facts.driver_version) + "; cuda " +
         std::to_string(facts.runtime_version) + "; cudnn " + CudnnVersion() + "; cublaslt " +
         CublasLtVersion();
}

}  // namespace

Result<std::unique_ptr<Session>> Session::Open(bool fake) {
  std::unique_ptr<Session> session(new Session());
  session->fake_ = fake;
  if (fake) {
    FakeDevice device = MakeFakeDevice();
    session->runtime_ = std::move(device.runtime);
    session->probes_ = device.probes;
    session->clock_ = std::make_unique<ClockWatch>(device.read_clock);
    session->enumerate_ = [list = device.enumerate](const Problem& problem, Precision precision,
                                                    MemoryLayout layout) {
      return Listing{list(problem, precision, layout), {}};
    };
    session->description_ = DescribeH200();
  } else {
    session->runtime_ = MakeDriverRuntime(0);
    session->enumerate_ = [raw = session.get()](const Problem& problem, Precision precision,
                                                MemoryLayout layout) {
      return EnumerateReal(raw->description_, problem, precision, layout);
    };
  }
  Result<DeviceFacts> facts = session->runtime_->Describe();
  if (!facts.ok()) return facts.error();
  session->facts_ = facts.value();
  if (!fake) {
    session->clock_ = std::make_unique<ClockWatch>(NvmlClock(session->facts_.pci_bus_id));
    // Failing here is no reason to stop: only cuDNN's candidates need the description.
    const Result<CudaDevice> described = DescribeDevice();
    if (!described.ok()) {
      std::fprintf(stderr, "device description: %s\n", described.error().message.c_str());
    }
    session->description_ = PresentDevice(session->runtime_.get(), session->facts_, described);
    Result<LoadedProbes> probes =
        LoadProbeKernels(session->runtime_.get(),
                         ArchitectureOf(session->facts_.sm_major, session->facts_.sm_minor));
    if (!probes.ok()) return probes.error();
    session->probe_library_ = std::move(probes.value().library);
    session->probes_ = probes.value().kernels;
  }
  session->fingerprint_ = fake ? "fake" : FingerprintOf(session->facts_);
  PLAIT_CUDA_RETURN_IF_ERROR(session->OpenMemory());
  return session;
}

Status Session::OpenMemory() {
  const Result<Stream> stream = runtime_->CreateStream(0);
  if (!stream.ok()) return stream.error();
  stream_ = OwnedStream(runtime_.get(), stream.value());
  Result<std::unique_ptr<Staging>> staging = Staging::Make(runtime_.get(), kStagingBytes);
  if (!staging.ok()) return staging.error();
  staging_ = std::move(staging).value();
  size_t wanted = fake_ ? kFakeMemoryBytes : kMemoryBytesMax;
  // Another process may hold some of the device's memory: take what there is.
  while (memory_ == nullptr) {
    const Result<void*> memory = runtime_->Allocate(wanted);
    if (memory.ok()) {
      memory_ = std::make_shared<const OwnedMemory>(runtime_.get(), memory.value());
      size_ = wanted;
    } else if (wanted < (size_t{1} << 29)) {
      return memory.error();
    }
    wanted /= 2;
  }
  // Three times the L2 and a little: its replacement is not exactly by age.
  flush_bytes_ = static_cast<size_t>(facts_.l2_bytes) * 32 / 10;
  const Result<void*> flush = runtime_->Allocate(flush_bytes_);
  if (!flush.ok()) return flush.error();
  flush_ = OwnedMemory(runtime_.get(), flush.value());
  return Ok();
}

Session::Listing Session::Enumerate(const Problem& problem, Precision precision,
                                    MemoryLayout layout) {
  return enumerate_(problem, precision, layout);
}

Result<void*> Session::Take(size_t bytes) {
  const size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  if (rounded > free_bytes()) {
    return Error{ErrorCode::kUnavailable, "out of device memory: " + std::to_string(rounded) +
                                              " bytes wanted, " + std::to_string(free_bytes()) +
                                              " free"};
  }
  void* taken = static_cast<std::byte*>(memory_->get()) + used_;
  used_ += rounded;
  return taken;
}

Status Session::FlushL2() { return runtime_->Fill(flush_.get(), 0x5a, flush_bytes_, stream()); }

}  // namespace plait::cuda
