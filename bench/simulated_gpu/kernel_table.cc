#include "bench/simulated_gpu/kernel_table.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/parallel_for.h"
#include "bench/simulated_gpu/ptxas_log.h"
#include "gpu_worker/backends/cuda/driver/nvrtc.h"
#include "gpu_worker/backends/cuda/generated/kernel.h"

namespace plait {
namespace {

constexpr std::array<const char*, 3> kTableArchitectures = {"sm_80", "sm_89", "sm_90a"};
// Of one program: fewer leave NVRTC's start to each, more leave processors idle at the end.
constexpr size_t kProgramKernels = 16;

constexpr char kTableHead[] =
    R"(// What ptxas gives the kernels that plait generates in strict fp32, by NVRTC 13.0: of each
// variant the most that a kernel of usual models takes. So it knows nothing of kernels in TF32 and
// in 16 bits, and one that takes less than the worst of its variant is priced as that one.
// `build/kernel_resources --table FILE` writes it, and kernel_table_test writes it again and
// compares.
// PLAIT_GENERATED_KERNEL(family, variant, threads, shared_bytes, sm_80, sm_89, sm_90a): threads and
// bytes of a block, registers of a thread by architecture.
)";

struct TableLine {
  int threads = 0;
  int shared_bytes = 0;
  std::array<int, kTableArchitectures.size()> registers = {};
};

// By place of the family in kernels.def, and variant.
using TableLines = std::map<std::pair<size_t, std::string>, TableLine>;

struct TableKernel {
  size_t family = 0;
  cuda::GeneratedKernel kernel;
};

std::vector<TableKernel> UsualKernels() {
  const std::vector<const cuda::GeneratedFamily*> families = cuda::GeneratedFamilies();
  std::vector<TableKernel> kernels;
  std::set<std::string> sources;
  for (const UsualProblem& usual : UsualProblems()) {
    for (size_t family = 0; family < families.size(); ++family) {
      for (cuda::GeneratedKernel& kernel :
           families[family]->generate(usual.problem, cuda::Precision::kStrict, usual.layout)) {
        if (!sources.insert(kernel.source).second) continue;
        kernels.push_back({family, std::move(kernel)});
      }
    }
  }
  return kernels;
}

// A program for one architecture, and what came of it.
struct TableProgram {
  size_t architecture = 0;
  size_t first = 0, end = 0;                    // of the kernels
  std::vector<KernelResources> resources = {};  // by kernel
  std::string failure = {};
};

void CompileProgram(const std::vector<TableKernel>& kernels, TableProgram* program) {
  std::vector<const cuda::GeneratedKernel*> together;
  for (size_t i = program->first; i < program->end; ++i) together.push_back(&kernels[i].kernel);
  const cuda::Result<cuda::CubinWithLog> compiled =
      cuda::CompileToCubinWithLog(cuda::DeviceSource(together, cuda::Precision::kStrict),
                                  kTableArchitectures[program->architecture]);
  if (!compiled.ok()) {
    program->failure = compiled.error().message;
    return;
  }
  const std::map<std::string, KernelResources> told = ReadPtxasLog(compiled.value().log);
  for (const cuda::GeneratedKernel* kernel : together) {
    const auto found = told.find(cuda::EntryOf(*kernel, cuda::Precision::kStrict));
    if (found == told.end()) {
      program->failure = absl::StrCat("ptxas says nothing of ", kernel->variant);
      return;
    }
    program->resources.push_back(found->second);
  }
}

std::vector<TableProgram> ProgramsOf(size_t kernels) {
  std::vector<TableProgram> programs;
  for (size_t first = 0; first < kernels; first += kProgramKernels) {
    for (size_t architecture = 0; architecture < kTableArchitectures.size(); ++architecture) {
      programs.push_back({architecture, first, std::min(kernels, first + kProgramKernels)});
    }
  }
  return programs;
}

void AddTo(const TableKernel& listed, size_t architecture, const KernelResources& resources,
           TableLines* lines) {
  const std::array<unsigned, 3>& block = listed.kernel.block;
  TableLine& line = (*lines)[{listed.family, listed.kernel.variant}];
  line.threads = std::max(line.threads, static_cast<int>(block[0] * block[1] * block[2]));
  line.shared_bytes = std::max(line.shared_bytes, resources.shared_bytes);
  line.registers[architecture] = std::max(line.registers[architecture], resources.registers);
}

}  // namespace

absl::StatusOr<std::string> GeneratedKernelTable() {
  if (!cuda::NvrtcVersion().ok())
    return absl::UnavailableError(cuda::NvrtcVersion().error().message);
  const std::vector<TableKernel> kernels = UsualKernels();
  std::vector<TableProgram> programs = ProgramsOf(kernels.size());
  ParallelFor(static_cast<int>(std::thread::hardware_concurrency()),
              static_cast<int>(programs.size()),
              [&](int program) { CompileProgram(kernels, &programs[program]); });
  TableLines lines;
  for (const TableProgram& program : programs) {
    if (!program.failure.empty()) return absl::InternalError(program.failure);
    for (size_t i = program.first; i < program.end; ++i) {
      AddTo(kernels[i], program.architecture, program.resources[i - program.first], &lines);
    }
  }
  const std::vector<const cuda::GeneratedFamily*> families = cuda::GeneratedFamilies();
  std::string text = kTableHead;
  for (const auto& [name, line] : lines) {
    absl::StrAppend(&text, "PLAIT_GENERATED_KERNEL(", families[name.first]->name, ", \"",
                    name.second, "\", ", line.threads, ", ", line.shared_bytes);
    for (const int registers : line.registers) absl::StrAppend(&text, ", ", registers);
    absl::StrAppend(&text, ")\n");
  }
  return text;
}

}  // namespace plait
