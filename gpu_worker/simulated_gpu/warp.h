#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gpu_worker/simulated_gpu/launch.h"

namespace plait::simulated_gpu {

// What all warps of a launch share.
struct LaunchState {
  const Program& program;
  const LaunchShape shape;
  const LaunchOptions options;
  DeviceMemory& memory;
  DeviceMemory module_memory;         // the module's own variables
  std::vector<std::byte> parameters;  // as the kernel's parameter space has them
  LaunchReport report;
  std::vector<AccessReport> accesses;  // one per instruction
  // Of griddepcontrol.wait: whether it has anything to wait for, whether that has ended, and what
  // threads have accessed before they came to it.
  const bool has_dependencies = false;
  bool dependencies_ended = false;
  Touches early;
};

// What all warps of the block that runs share.
struct BlockState {
  std::array<unsigned, 3> index = {0, 0, 0};
  int32_t number = 0;
  int32_t interval = 0;  // barriers passed
  DeviceMemory shared;
};

// Up to 32 threads of a block. A warp is used for one block after another. warp.cc has the order of
// instructions, warp_memory.cc loads and stores, warp_exchange.cc what lanes tell each other.
class Warp {
 public:
  enum class State { kRunning, kAtBarrier, kAtDependencies, kEnded };

  // `launch` and `block` outlive the warp. `number`: of the block, from 0.
  Warp(LaunchState& launch, BlockState& block, int number, int threads);

  // Before the first instruction of the block that `block` now is.
  void Begin();
  // Until a barrier, a griddepcontrol.wait whose dependencies have not ended, or the end.
  // Errors: as Launch().
  absl::Status Run();
  // Passes the barrier at which it stands.
  void PassBarrier();

  State state() const { return state_; }
  // Whether all threads have passed a griddepcontrol.wait; true where there is nothing to wait for.
  bool has_waited() const { return (AllThreads() & ~waited_) == 0; }
  // The instruction of the barrier at which it stands.
  int at() const { return at_; }
  // An error at the instruction `at_`, of the thread in `lane`.
  absl::Status Annotated(const absl::Status& status, int lane) const;

 private:
  // Lanes that go together: from instruction `at` on until `until`, where others wait.
  struct Path {
    uint32_t mask = 0;
    int at = 0;
    int until = 0;
  };

  absl::Status Step(const Instruction& instruction, uint32_t mask);
  void Branch(const Instruction& instruction, uint32_t taken, uint32_t active);
  absl::Status CheckBarrier(uint32_t mask);

  absl::Status Memory(const Instruction& instruction, uint32_t mask);
  absl::Status Access(const Instruction& instruction, DeviceMemory& memory, int lane,
                      uint64_t address);
  void NoteEarly(const Instruction& instruction, int lane, uint64_t address);
  void LoadParameter(const Instruction& instruction, uint32_t mask);
  void SetElements(const Instruction& instruction, int lane, const std::byte* data);
  void CountAccess(const Instruction& instruction, uint32_t mask, const uint64_t* addresses);
  DeviceMemory& LocalMemory(int lane);

  absl::Status Shuffle(const Instruction& instruction, uint32_t mask);
  absl::Status Vote(const Instruction& instruction, uint32_t mask);
  absl::Status Product(const Instruction& instruction, uint32_t mask);
  absl::Status WarpBarrier(const Instruction& instruction, uint32_t mask);
  // Whether the lanes that a mask in a register names are just those that are here.
  absl::Status CheckMembers(const uint64_t* members, uint32_t mask) const;

  uint32_t AllThreads() const {
    return threads_ == kLanes ? ~uint32_t{0} : (uint32_t{1} << threads_) - 1;
  }
  uint64_t* slot(int index) { return &slots_[static_cast<size_t>(index) * kLanes]; }
  uint32_t PredicateMask(int index) const;
  uint64_t InitialValue(const Slot& slot, int lane) const;

  LaunchState& launch_;
  BlockState& block_;
  const int number_;
  const int threads_;
  std::vector<uint64_t> slots_;
  std::vector<Path> paths_;  // the last one runs
  uint32_t alive_ = 0;       // lanes that have not ended
  uint32_t waited_ = 0;      // lanes that have passed griddepcontrol.wait, if it matters
  int at_ = 0;
  int32_t warp_interval_ = 0;
  State state_ = State::kEnded;
  bool begun_ = false;               // a block before
  std::vector<DeviceMemory> local_;  // one per lane, where the kernel has local memory
};

}  // namespace plait::simulated_gpu
