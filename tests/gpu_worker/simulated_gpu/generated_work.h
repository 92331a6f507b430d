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

// What a kernel is run on: the operands of its problem, and whether there is a word for errors,
// which a kernel that has one as an argument may be without.
struct Trial {
  cuda::HostOperands operands;
  bool has_error_word = true;
};

// The operands of OperandsOf(). Of a gather also some with an index below the rows and one beyond
// them, with a word and without.
std::vector<Trial> TrialsOf(const Work& work);

struct RunOptions {
  int64_t address_offset = 0;  // of each operand, behind a multiple of 256 bytes
  uint64_t seed = 1;
  int64_t instructions_max = int64_t{1} << 32;
};

struct GeneratedRun {
  std::vector<std::vector<float>> outputs;
  int64_t error_word = 0;
  LaunchReport report;  // of the last launch
};

// Runs a kernel on operands each of which has an allocation of its own; as often as it is launched.
// Errors: as Launch(); kFailedPrecondition for an output of which not every byte was written.
absl::StatusOr<GeneratedRun> RunWork(const Program& program, const Work& work, const Trial& trial,
                                     const RunOptions& options = {});

// What the device has of an argument that is no output.
std::vector<std::byte> BytesOf(const cuda::KernelArgument& argument,
                               const cuda::HostOperands& operands, cuda::Precision precision);

// The operands of a work, and what it should make of them: an index beyond a gather's rows is that
// of the nearest row.
cuda::HostOperands OperandsOf(const Work& work);
std::vector<cuda::ReferenceElement> ReferenceOf(const Work& work, cuda::HostOperands operands);

// Whether outputs are within all bounds of the reference. Errors: kOutOfRange with how far off they
// are.
absl::Status CheckOutputs(const Work& work, const std::vector<cuda::ReferenceElement>& reference,
                          const std::vector<std::vector<float>>& outputs);
// The same of a run, whose word must name the place of a wrong index if there is one, and else be
// zero. Errors: also kDataLoss.
absl::Status CheckRun(const Work& work, const Trial& trial,
                      const std::vector<cuda::ReferenceElement>& reference,
                      const GeneratedRun& run);

}  // namespace plait::simulated_gpu
