#include "bench/simulated_gpu/kernel_traffic.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "gpu_worker/backends/cuda/driver/nvrtc.h"
#include "gpu_worker/backends/cuda/problem/problem_shape.h"
#include "gpu_worker/simulated_gpu/device_memory.h"
#include "gpu_worker/simulated_gpu/launch.h"
#include "gpu_worker/simulated_gpu/ptx_module.h"

namespace plait {
namespace {

using Kind = cuda::KernelArgument::Kind;

// An argument as memory: no elements where a null pointer will do.
struct ArgumentMemory {
  std::string name;
  int64_t elements = 0;
  int64_t alignment_bytes = cuda::kDeviceAlignmentBytes;
};

ArgumentMemory MemoryOf(const cuda::KernelArgument& argument, const cuda::ProblemShape& shape,
                        const ModelKernel& kernel) {
  const cuda::OperandAlignment& alignment = kernel.alignment;
  const cuda::OperandPitches& pitches = kernel.form.pitches;
  const auto i = static_cast<size_t>(argument.index);
  switch (argument.kind) {
    case Kind::kInput:
      return {absl::StrCat("x", i), pitches.input(i).SpanOf(shape.inputs[i]), alignment.inputs};
    case Kind::kWeights:
      return {"weights", shape.weights, alignment.weights};
    case Kind::kPackedWeights:
      return {"packed_weights", shape.weights};
    case Kind::kSecondWeights:
      return {"second_weights", shape.second_weights, alignment.weights};
    case Kind::kBias:
      return {"bias", shape.bias, alignment.bias};
    case Kind::kSecondBias:
      return {"second_bias", shape.second_bias, alignment.bias};
    case Kind::kResidual:
      return {"residual", pitches.residual.SpanOf(shape.residual), alignment.residual};
    case Kind::kOutput:
      return {absl::StrCat("y", i), pitches.output(i).SpanOf(shape.outputs[i]), alignment.outputs};
    case Kind::kWorkspace:
    case Kind::kErrorWord:
    case Kind::kStep:
      break;
  }
  return {};
}

// As many of its blocks as there may be, all of them along x.
std::array<unsigned, 3> FirstBlocks(std::array<unsigned, 3> grid, unsigned blocks_max) {
  for (unsigned& blocks : grid) {
    blocks = std::min(blocks, blocks_max);
    blocks_max /= blocks;
  }
  return grid;
}

// Of a launch, by operand; `element_bytes` by its name. Tables of the text's own are no operands.
std::vector<OperandTraffic> TrafficOf(const simulated_gpu::LaunchReport& report,
                                      const std::map<std::string, int64_t>& element_bytes) {
  std::map<std::pair<bool, std::string>, OperandTraffic> by_operand;
  for (const simulated_gpu::AccessReport& access : report.accesses) {
    const auto element = element_bytes.find(access.range);
    if (access.sectors == 0 || element == element_bytes.end()) continue;
    const bool is_store = !absl::StartsWith(access.opcode, "ld.");
    OperandTraffic& traffic = by_operand[{is_store, access.range}];
    traffic.operand = access.range;
    traffic.is_store = is_store;
    traffic.element_bytes = element->second;
    traffic.sectors += access.sectors;
    traffic.bytes_asked += access.bytes_asked;
  }
  std::vector<OperandTraffic> all;
  for (auto& [name, traffic] : by_operand) all.push_back(std::move(traffic));
  return all;
}

}  // namespace

absl::StatusOr<std::vector<OperandTraffic>> MeasureTraffic(const simulated_gpu::Program& program,
                                                           const ModelKernel& kernel,
                                                           unsigned blocks_max) {
  const cuda::Result<cuda::ProblemShape> shape = cuda::ShapeOf(kernel.problem);
  if (!shape.ok()) return absl::InvalidArgumentError(shape.error().message);
  simulated_gpu::DeviceMemory memory;
  std::vector<uint64_t> addresses;
  std::map<std::string, int64_t> element_bytes = {{"workspace", sizeof(float)}};
  for (const cuda::KernelArgument& argument : kernel.kernel.arguments) {
    if (argument.kind == Kind::kWorkspace) {
      const auto bytes = static_cast<int64_t>(kernel.kernel.workspace_bytes);
      addresses.push_back(memory.Allocate("workspace", bytes));
      continue;
    }
    const ArgumentMemory wanted = MemoryOf(argument, shape.value(), kernel);
    if (wanted.name.empty()) {
      addresses.push_back(0);
      continue;
    }
    const int64_t element = cuda::ElementBytes(argument.type, kernel.form.precision);
    const int64_t bytes = wanted.elements * element;
    element_bytes[wanted.name] = element;
    addresses.push_back(
        memory.Allocate(wanted.name, bytes, wanted.alignment_bytes % cuda::kDeviceAlignmentBytes));
    if (argument.kind == Kind::kOutput) continue;
    const std::vector<std::byte> zeros(static_cast<size_t>(bytes));
    PLAIT_RETURN_IF_ERROR(memory.Write(addresses.back(), zeros));
  }
  const int first_step = 0;
  std::vector<const void*> arguments;
  for (size_t i = 0; i < addresses.size(); ++i) {
    const bool is_step = kernel.kernel.arguments[i].kind == Kind::kStep;
    arguments.push_back(is_step ? static_cast<const void*>(&first_step) : &addresses[i]);
  }
  PLAIT_ASSIGN_OR_RETURN(
      const simulated_gpu::LaunchReport report,
      simulated_gpu::Launch(program, memory,
                            {FirstBlocks(kernel.kernel.grid, blocks_max), kernel.kernel.block},
                            arguments));
  return TrafficOf(report, element_bytes);
}

absl::StatusOr<std::vector<simulated_gpu::Program>> ProgramsOf(
    absl::Span<const ModelKernel* const> kernels) {
  std::vector<const cuda::GeneratedKernel*> texts;
  for (const ModelKernel* kernel : kernels) texts.push_back(&kernel->kernel);
  const cuda::Precision precision = kernels[0]->form.precision;
  const cuda::Result<std::string> ptx =
      cuda::CompileToPtx(cuda::DeviceSource(texts, precision), "compute_90");
  if (!ptx.ok()) return absl::InternalError(ptx.error().message);
  PLAIT_ASSIGN_OR_RETURN(const simulated_gpu::PtxModule module,
                         simulated_gpu::ParsePtx(ptx.value()));
  std::vector<simulated_gpu::Program> programs;
  for (const cuda::GeneratedKernel* text : texts) {
    PLAIT_ASSIGN_OR_RETURN(simulated_gpu::Program program,
                           simulated_gpu::DecodeKernel(module, cuda::EntryOf(*text, precision)));
    programs.push_back(std::move(program));
  }
  return programs;
}

}  // namespace plait
