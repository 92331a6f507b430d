#pragma once

#include <memory>
#include <optional>

#include "gpu_worker/backends/cpu/microkernel/assemble.h"
#include "gpu_worker/backends/cpu/microkernel/interpret.h"

namespace plait {

// A microkernel as this process can run it: assembled where CurrentInstructionSet allows its
// instructions, else interpreted, some thousand times slower and with every address checked.
// Free of state, so that any number of threads may run it.
class LoadedMicrokernel {
 public:
  // Errors: those of Assemble.
  static absl::StatusOr<LoadedMicrokernel> Load(Microkernel list);

  // Runs it on the operands, as many as the list takes; their sizes count when it is interpreted.
  // Errors: those of Interpret: of assembled code none.
  absl::Status Run(absl::Span<const MicroOperand> operands) const;

 private:
  friend class MicrokernelTiles;

  Microkernel list_;
  std::unique_ptr<AssembledMicrokernel> assembled_;  // nullptr: interpreted
};

// The calling thread's tiles, configured for the microkernel that runs next (TileScope), and given
// back at the end.
class MicrokernelTiles {
 public:
  // Does nothing where they are configured for `kernel`, or where it uses none.
  void Configure(const LoadedMicrokernel& kernel);

 private:
  std::optional<TileScope> scope_;
  const LoadedMicrokernel* kernel_ = nullptr;
};

}  // namespace plait
