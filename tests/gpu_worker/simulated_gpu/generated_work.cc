#include "tests/gpu_worker/simulated_gpu/generated_work.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "gpu_worker/backends/cuda/driver/nvrtc.h"
#include "gpu_worker/backends/cuda/problem/difference.h"
#include "gpu_worker/backends/cuda/problem/problem_shape.h"

namespace plait::simulated_gpu {
namespace {

using Kind = cuda::KernelArgument::Kind;

const char* NameOf(Kind kind) {
  static constexpr const char* kNames[] = {
      "x",        "weights", "packed_weights", "second_weights", "bias", "second_bias",
      "residual", "y",       "error",          "workspace"};
  return kNames[static_cast<int>(kind)];
}

cuda::ProblemShape ShapeOfWork(const Work& work) {
  const cuda::Result<cuda::ProblemShape> shape = cuda::ShapeOf(work.problem);
  PLAIT_CHECK(shape.ok());
  return shape.value();
}

// Those that a gather's indices choose from; indices below zero count from their end.
int64_t RowsOf(const Work& work) {
  const auto& p = std::get<cuda::MovementProblem>(work.problem);
  return p.inputs[0][p.axis];
}

// Whether a kernel that was given these indices may leave this in its word.
bool IsRightWord(const Work& work, const std::vector<int64_t>& indices, int64_t word) {
  const auto is_wrong = [&work](int64_t index) {
    return index < -RowsOf(work) || index >= RowsOf(work);
  };
  if (word == 0) return std::none_of(indices.begin(), indices.end(), is_wrong);
  return word > 0 && word <= std::ssize(indices) && is_wrong(indices[word - 1]);
}

// The address of what is no operand of the problem and may be null, but for what a kernel keeps
// from launch to launch and the word for errors.
absl::StatusOr<uint64_t> AllocateOther(const Work& work, Kind kind, const Trial& trial,
                                       DeviceMemory* memory) {
  if (kind == Kind::kWorkspace) {
    return memory->Allocate(NameOf(kind), static_cast<int64_t>(work.kernel.workspace_bytes));
  }
  if (kind != Kind::kErrorWord || !trial.has_error_word) return 0;
  const uint64_t address = memory->Allocate(NameOf(kind), sizeof(int64_t));
  constexpr std::array<std::byte, sizeof(int64_t)> kZero = {};
  PLAIT_RETURN_IF_ERROR(memory->Write(address, kZero));
  return address;
}

}  // namespace

std::vector<std::byte> BytesOf(const cuda::KernelArgument& argument,
                               const cuda::HostOperands& operands, cuda::Precision precision) {
  const bool indices =
      argument.kind == Kind::kInput && argument.index == 1 && !operands.indices.empty();
  if (!indices)
    return cuda::ToStorage(cuda::FloatsOf(argument, operands), argument.type, precision);
  std::vector<std::byte> bytes(operands.indices.size() * 8);
  std::memcpy(bytes.data(), operands.indices.data(), bytes.size());
  return bytes;
}

std::vector<Work> WorkOf(const cuda::GeneratedFamily& family, cuda::Precision precision,
                         const std::vector<cuda::GeneratedCase>& cases, int64_t alignment_bytes) {
  std::vector<Work> all;
  for (const cuda::GeneratedCase& c : cases) {
    for (cuda::MemoryLayout layout : {cuda::MemoryLayout::kNchw, cuda::MemoryLayout::kNhwc}) {
      if (layout == cuda::MemoryLayout::kNhwc && !cuda::LayoutMatters(c.problem)) continue;
      for (const cuda::GeneratedKernel& kernel :
           family.list(c.problem, {precision, layout, alignment_bytes})) {
        all.push_back({absl::StrCat(family.name, "/", c.name, "/", kernel.variant, "/",
                                    cuda::LayoutName(layout), "/", cuda::PrecisionName(precision)),
                       c.problem, layout, precision, kernel});
      }
    }
  }
  return all;
}

std::string EntryOf(const Work& work) { return cuda::EntryOf(work.kernel, work.precision); }

bool HasNvrtc() {
  static const bool is_here = cuda::CompileToPtx("__global__ void f() {}", "compute_90").ok();
  return is_here;
}

std::string SourceOfWork(const std::vector<Work>& all) {
  std::vector<const cuda::GeneratedKernel*> kernels;
  for (const Work& work : all) {
    PLAIT_CHECK(work.precision == all.front().precision);
    kernels.push_back(&work.kernel);
  }
  return cuda::DeviceSource(kernels, all.front().precision);
}

absl::StatusOr<std::string> PtxOfWork(const std::vector<Work>& all,
                                      const std::string& architecture) {
  // Half of the time of these tests is NVRTC's, and several run the same kernels.
  static auto* const known = new std::map<std::pair<std::string, std::string>, std::string>();
  std::pair<std::string, std::string> asked(SourceOfWork(all), architecture);
  const auto found = known->find(asked);
  if (found != known->end()) return found->second;
  const cuda::Result<std::string> ptx = cuda::CompileToPtx(asked.first, architecture);
  if (!ptx.ok()) return absl::InternalError(ptx.error().message);
  return known->emplace(std::move(asked), ptx.value()).first->second;
}

absl::StatusOr<PtxModule> CompileWork(const std::vector<Work>& all,
                                      const std::string& architecture) {
  PLAIT_ASSIGN_OR_RETURN(const std::string ptx, PtxOfWork(all, architecture));
  return ParsePtx(ptx);
}

absl::StatusOr<GeneratedRun> RunWork(const Program& program, const Work& work, const Trial& trial,
                                     const RunOptions& options) {
  const cuda::ProblemShape shape = ShapeOfWork(work);
  DeviceMemory memory;
  std::vector<uint64_t> addresses;
  for (const cuda::KernelArgument& argument : work.kernel.arguments) {
    addresses.emplace_back();
    if (argument.kind > Kind::kOutput) {
      PLAIT_ASSIGN_OR_RETURN(addresses.back(), AllocateOther(work, argument.kind, trial, &memory));
      continue;
    }
    const bool output = argument.kind == Kind::kOutput;
    std::vector<std::byte> bytes;
    if (!output) bytes = BytesOf(argument, trial.operands, work.precision);
    const int64_t element = cuda::ElementBytes(argument.type, work.precision);
    const int64_t size =
        output ? shape.outputs[argument.index] * element : static_cast<int64_t>(bytes.size());
    // Elements lie at multiples of their size, whatever the others do.
    addresses.back() =
        memory.Allocate(NameOf(argument.kind), size, options.address_offset / element * element);
    PLAIT_RETURN_IF_ERROR(memory.Write(addresses.back(), bytes));
  }
  int step = 0;
  std::vector<const void*> arguments;
  for (size_t i = 0; i < addresses.size(); ++i) {
    const bool is_step = work.kernel.arguments[i].kind == Kind::kStep;
    arguments.push_back(is_step ? static_cast<const void*>(&step) : &addresses[i]);
  }
  const LaunchOptions launch{.seed = options.seed, .instructions_max = options.instructions_max};
  GeneratedRun run;
  for (; step < work.kernel.launches; ++step) {
    PLAIT_ASSIGN_OR_RETURN(
        run.report,
        Launch(program, memory, {work.kernel.grid, work.kernel.block}, arguments, launch));
  }
  run.outputs.resize(shape.outputs.size());
  for (size_t i = 0; i < addresses.size(); ++i) {
    const cuda::KernelArgument& argument = work.kernel.arguments[i];
    if (argument.kind == Kind::kErrorWord && trial.has_error_word) {
      std::array<std::byte, sizeof(int64_t)> word;
      PLAIT_RETURN_IF_ERROR(memory.Read(addresses[i], absl::MakeSpan(word)));
      std::memcpy(&run.error_word, word.data(), word.size());
    }
    if (argument.kind != Kind::kOutput) continue;
    const int64_t count = shape.outputs[argument.index];
    std::vector<std::byte> bytes(count * cuda::ElementBytes(argument.type, work.precision));
    PLAIT_RETURN_IF_ERROR(memory.Read(addresses[i], absl::MakeSpan(bytes)));
    run.outputs[argument.index] =
        cuda::FromStorage(bytes.data(), count, argument.type, work.precision);
  }
  return run;
}

cuda::HostOperands OperandsOf(const Work& work) {
  return cuda::MakeHostOperands(work.problem, ShapeOfWork(work), work.precision, 7);
}

std::vector<Trial> TrialsOf(const Work& work) {
  std::vector<Trial> trials = {{OperandsOf(work)}};
  if (trials[0].operands.indices.empty()) return trials;
  cuda::HostOperands wrong = trials[0].operands;
  // The nearest that are wrong, and the nearest that are not.
  const int64_t rows = RowsOf(work);
  const int64_t indices[] = {-rows - 1, rows, -rows, rows - 1};
  for (size_t i = 0; i < std::min(wrong.indices.size(), std::size(indices)); ++i) {
    wrong.indices[i] = indices[i];
  }
  trials.push_back({wrong});
  trials.push_back({wrong, /*has_error_word=*/false});
  return trials;
}

std::vector<cuda::ReferenceElement> ReferenceOf(const Work& work, cuda::HostOperands operands) {
  for (int64_t& index : operands.indices) {
    index = std::clamp(index, -RowsOf(work), RowsOf(work) - 1);
  }
  constexpr int64_t kEveryElement = int64_t{1} << 40;
  return cuda::ComputeReference(work.problem, ShapeOfWork(work), work.layout, operands,
                                kEveryElement, 1);
}

absl::Status CheckOutputs(const Work& work, const std::vector<cuda::ReferenceElement>& reference,
                          const std::vector<std::vector<float>>& outputs) {
  const cuda::Difference difference = cuda::Compare(reference, outputs, work.precision);
  if (cuda::Passes(difference, work.problem, work.precision)) return absl::OkStatus();
  return absl::OutOfRangeError(absl::StrCat(work.name, ": relative L2 ", difference.relative_l2,
                                            ", largest error ", difference.largest, ", NaN ",
                                            difference.not_numbers));
}

absl::Status CheckRun(const Work& work, const Trial& trial,
                      const std::vector<cuda::ReferenceElement>& reference,
                      const GeneratedRun& run) {
  PLAIT_RETURN_IF_ERROR(CheckOutputs(work, reference, run.outputs));
  const std::vector<int64_t>& indices = trial.operands.indices;
  if (!trial.has_error_word || IsRightWord(work, indices, run.error_word)) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(work.name, ": the word is ", run.error_word));
}

}  // namespace plait::simulated_gpu
