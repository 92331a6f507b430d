#include "gpu_worker/backends/cpu/kernels/loaded_microkernel.h"

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/loops/instruction_set.h"

namespace plait {
namespace {

InstructionSet NeededSet(const Microkernel& list) {
  if (list.uses_tiles()) return InstructionSet::kAmx;
  return list.vector_floats == 16 ? InstructionSet::kAvx512 : InstructionSet::kAvx2;
}

}  // namespace

absl::StatusOr<LoadedMicrokernel> LoadedMicrokernel::Load(Microkernel list) {
  LoadedMicrokernel loaded;
  if (CurrentInstructionSet() >= NeededSet(list)) {
    PLAIT_ASSIGN_OR_RETURN(loaded.assembled_, Assemble(list));
  }
  loaded.list_ = std::move(list);
  return loaded;
}

absl::Status LoadedMicrokernel::Run(absl::Span<const MicroOperand> operands) const {
  if (assembled_ == nullptr) return Interpret(list_, operands);
  std::byte* pointers[kMicroPointers] = {};
  for (size_t i = 0; i < operands.size(); ++i) pointers[i] = operands[i].data;
  (*assembled_)(pointers);
  return absl::OkStatus();
}

void MicrokernelTiles::Configure(const LoadedMicrokernel& kernel) {
  if (kernel_ == &kernel) return;
  kernel_ = &kernel;
  scope_.reset();
  if (kernel.assembled_ != nullptr && kernel.list_.uses_tiles()) scope_.emplace(kernel.list_);
}

}  // namespace plait
