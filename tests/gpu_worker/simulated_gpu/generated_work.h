#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gpu_worker/backends/cuda/generated/kernel.h"
#include "gpu_worker/backends/cuda/problem/reference_problem.h"
#include "gpu_worker/simulated_gpu/launch.h"
#include "tests/gpu_worker/backends/cuda/generated/emulation/generated_cases.h"

namespace plait::simulated_gpu {

// One generated kernel and the problem that it is for.
struct Work {
  std::string name;
  cuda::Problem problem;
  cuda::MemoryLayout layout = cuda::MemoryLayout::kNchw;
  cuda::Precision precision = cuda::Precision::kStrict;
  cuda::GeneratedKernel kernel;
};

// Every kernel that a family generates for the cases and operands of this alignment. A gather's
// indices are aligned to 8 bytes in any case.
std::vector<Work> WorkOf(const cuda::GeneratedFamily& family, cuda::Precision precision,
                         const std::vector<cuda::GeneratedCase>& cases,
                         int64_t alignment_bytes = 16);

// False where libnvrtc.so.13 is not installed, and tests that compile are skipped.
bool HasNvrtc();

// All kernels compiled as one module for a virtual architecture, which is much quicker than one by
// one, and decoded. Errors: kInternal with NVRTC's words; as ParsePtx(), DecodeKernel().
absl::StatusOr<PtxModule> CompileWork(const std::vector<Work>& all,
                                      const std::string& architecture);
// The same as text. Errors: kInternal with NVRTC's words.
absl::StatusOr<std::string> PtxOfWork(const std::vector<Work>& all,
                                      const std::string& architecture);
// What is compiled, in CUDA C++. REQUIRES: at least one, and all of one precision.
std::string SourceOfWork(const std::vector<Work>& all);
std::string EntryOf(const Work& work);  // the kernel's name in that module

struct GeneratedRun {
  std::vector<std::vector<float>> outputs;
  LaunchReport report;  // of the last launch
};

// Runs a kernel on the problem's operands, each in an allocation of its own at `address_offset`
// bytes behind a multiple of 256; as often as it is launched. Errors: as Launch();
// kFailedPrecondition for an output of which not every byte was written.
absl::StatusOr<GeneratedRun> RunWork(const Program& program, const Work& work,
                                     const cuda::HostOperands& operands, int64_t address_offset,
                                     uint64_t seed, int64_t instructions_max = int64_t{1} << 32);

// What the device has of an argument that is no output.
std::vector<std::byte> BytesOf(const cuda::KernelArgument& argument,
                               const cuda::HostOperands& operands, cuda::Precision precision);

// The operands of a work, and what it should make of them.
cuda::HostOperands OperandsOf(const Work& work);
std::vector<cuda::ReferenceElement> ReferenceOf(const Work& work,
                                                const cuda::HostOperands& operands);

}  // namespace plait::simulated_gpu
