#include "gpu_worker/simulated_gpu/warp.h"

#include <algorithm>
#include <bit>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"

namespace plait::simulated_gpu {
namespace {

// What a register holds before it is written: a NaN as a float, or a huge number, which a maximum
// does not hide; neither is an address that anything has.
constexpr uint64_t kPoisons[] = {0x7ff4baad7fa4baadu, 0x7f4fbaad7f7fbaadu};

}  // namespace

Warp::Warp(LaunchState& launch, BlockState& block, int number, int threads)
    : launch_(launch),
      block_(block),
      number_(number),
      threads_(threads),
      slots_(launch.program.slots.size() * kLanes, 0) {
  if (!launch.program.local.empty()) local_.resize(kLanes);
  for (DeviceMemory& memory : local_) {
    for (const PlacedVariable& variable : launch.program.local) {
      memory.AllocateAt(variable.name, variable.address, variable.bytes);
    }
    memory.BeginLaunch(launch.program.global_granule_bytes);
  }
}

uint64_t Warp::InitialValue(const Slot& slot, int lane) const {
  const auto& block = launch_.shape.block;
  const unsigned thread = static_cast<unsigned>(number_ * kLanes + lane);
  switch (slot.kind) {
    case Slot::Kind::kRegister:
      return kPoisons[launch_.options.seed % 2];
    case Slot::Kind::kConstant:
      return slot.value;
    case Slot::Kind::kThread:
      if (slot.axis == 0) return thread % block[0];
      return slot.axis == 1 ? thread / block[0] % block[1] : thread / (block[0] * block[1]);
    case Slot::Kind::kThreads:
      return block[slot.axis];
    case Slot::Kind::kBlock:
      return block_.index[slot.axis];
    case Slot::Kind::kBlocks:
      return launch_.shape.grid[slot.axis];
    case Slot::Kind::kLane:
      return static_cast<uint64_t>(lane);
    case Slot::Kind::kWarp:
      return static_cast<uint64_t>(number_);
  }
  return 0;
}

void Warp::Begin() {
  const std::vector<Slot>& slots = launch_.program.slots;
  for (size_t i = 0; i < slots.size(); ++i) {
    // Nothing writes to constants.
    if (begun_ && slots[i].kind == Slot::Kind::kConstant) continue;
    uint64_t* const lanes = slot(static_cast<int>(i));
    if (slots[i].kind == Slot::Kind::kRegister) {  // of which there are the most
      std::fill_n(lanes, kLanes, InitialValue(slots[i], 0));
      continue;
    }
    for (int lane = 0; lane < kLanes; ++lane) lanes[lane] = InitialValue(slots[i], lane);
  }
  begun_ = true;
  for (DeviceMemory& memory : local_) memory.ForgetContents();
  alive_ = AllThreads();
  waited_ = launch_.has_dependencies ? 0 : kAllLanes;
  paths_ = {{alive_, 0, -1}};
  at_ = 0;
  warp_interval_ = 0;
  state_ = State::kRunning;
}

void Warp::PassBarrier() {
  ++paths_.back().at;
  ++warp_interval_;
  state_ = State::kRunning;
}

absl::Status Warp::Annotated(const absl::Status& status, int lane) const {
  const Instruction& instruction = launch_.program.instructions[at_];
  const int thread = number_ * kLanes + lane;
  return Annotate(status,
                  absl::StrFormat("kernel %s, PTX line %d, %s, block (%d, %d, %d), thread %d",
                                  launch_.program.kernel, instruction.line, instruction.opcode,
                                  block_.index[0], block_.index[1], block_.index[2], thread));
}

uint32_t Warp::PredicateMask(int index) const {
  const uint64_t* values = &slots_[static_cast<size_t>(index) * kLanes];
  uint32_t mask = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    mask |= static_cast<uint32_t>(values[lane] & 1) << lane;
  }
  return mask;
}

absl::Status Warp::Run() {
  const std::vector<Instruction>& instructions = launch_.program.instructions;
  const auto end = static_cast<int>(instructions.size());
  if (state_ == State::kAtDependencies) state_ = State::kRunning;
  while (state_ == State::kRunning && !paths_.empty()) {
    Path& path = paths_.back();
    const uint32_t active = path.mask & alive_;
    if (active == 0 || path.at == path.until) {
      paths_.pop_back();
      continue;
    }
    if (path.at >= end) {
      alive_ &= ~active;
      continue;
    }
    at_ = path.at;
    const Instruction& instruction = instructions[at_];
    uint32_t mask = active;
    if (instruction.guard >= 0) {
      const uint32_t guard = PredicateMask(instruction.guard);
      mask &= instruction.guard_negated ? ~guard : guard;
    }
    LaunchReport& report = launch_.report;
    ++report.by_class[static_cast<int>(instruction.instruction_class)];
    report.lane_instructions += std::popcount(mask);
    if (++report.instructions > launch_.options.instructions_max) {
      return Annotated(absl::ResourceExhaustedError(absl::StrCat(
                           "more than ", launch_.options.instructions_max, " instructions")),
                       std::countr_zero(active));
    }
    if (instruction.kind == Instruction::Kind::kBranch) {
      Branch(instruction, mask, active);
    } else if (mask != 0) {
      PLAIT_RETURN_IF_ERROR(Step(instruction, mask));
    } else {
      ++path.at;
    }
  }
  if (state_ == State::kRunning) state_ = State::kEnded;
  return absl::OkStatus();
}

// One instruction that is no branch. REQUIRES: mask is not empty.
absl::Status Warp::Step(const Instruction& instruction, uint32_t mask) {
  switch (instruction.kind) {
    case Instruction::Kind::kLanes: {
      LaneOperands operands = {};
      for (int i = 0; i < 4; ++i) {
        if (instruction.out[i] >= 0) operands.out[i] = slot(instruction.out[i]);
        if (instruction.in[i] >= 0) operands.in[i] = slot(instruction.in[i]);
      }
      instruction.function(operands, mask);
      break;
    }
    case Instruction::Kind::kLoad:
    case Instruction::Kind::kStore:
      PLAIT_RETURN_IF_ERROR(Memory(instruction, mask));
      break;
    case Instruction::Kind::kExit:
      alive_ &= ~mask;
      break;
    case Instruction::Kind::kBarrier:
      // The barrier is passed by PassBarrier(), and counts as executed from then on.
      PLAIT_RETURN_IF_ERROR(CheckBarrier(mask));
      state_ = State::kAtBarrier;
      return absl::OkStatus();
    case Instruction::Kind::kWarpBarrier:
      PLAIT_RETURN_IF_ERROR(WarpBarrier(instruction, mask));
      break;
    case Instruction::Kind::kShuffle:
      PLAIT_RETURN_IF_ERROR(Shuffle(instruction, mask));
      break;
    case Instruction::Kind::kVote:
      PLAIT_RETURN_IF_ERROR(Vote(instruction, mask));
      break;
    case Instruction::Kind::kProduct:
      PLAIT_RETURN_IF_ERROR(Product(instruction, mask));
      break;
    case Instruction::Kind::kActiveMask:
      for (int lane = 0; lane < kLanes; ++lane) {
        if ((mask >> lane & 1) != 0) slot(instruction.out[0])[lane] = mask;
      }
      break;
    case Instruction::Kind::kWait:
      if (launch_.has_dependencies && !launch_.dependencies_ended) {
        state_ = State::kAtDependencies;
        return absl::OkStatus();
      }
      waited_ |= mask;
      break;
    case Instruction::Kind::kTrigger:
    case Instruction::Kind::kBranch:
      break;
  }
  ++paths_.back().at;
  return absl::OkStatus();
}

// The lanes that jump and those that go on become two paths on top of the one that waits for both
// where they meet. By an example: in "0: @p bra 3; 1: add; 2: bra 4; 3: sub; 4: st" lanes part at
// 0; the path becomes {all, at 4}, under {not p, at 1, until 4} and {p, at 3, until 4}.
void Warp::Branch(const Instruction& instruction, uint32_t taken, uint32_t active) {
  Path& path = paths_.back();
  const uint32_t not_taken = active & ~taken;
  if (not_taken == 0 || taken == 0) {
    path.at = taken != 0 ? instruction.target : path.at + 1;
    return;
  }
  const int meeting = instruction.reconvergence;
  const Path going_on = {not_taken, path.at + 1, meeting};
  const Path jumping = {taken, instruction.target, meeting};
  // A path that has come to its own end by this needs no waiting.
  path.at = meeting;
  if (meeting < 0 || meeting == path.until) paths_.pop_back();
  if (going_on.at != meeting) paths_.push_back(going_on);
  if (jumping.at != meeting) paths_.push_back(jumping);
}

absl::Status Warp::CheckBarrier(uint32_t mask) {
  const uint32_t all = threads_ == kLanes ? kAllLanes : (uint32_t{1} << threads_) - 1;
  if (mask == all) return absl::OkStatus();
  const int missing = std::countr_zero(all & ~mask);
  return Annotated(absl::AbortedError(absl::StrCat(
                       "divergent barrier: thread ", number_ * kLanes + missing,
                       (alive_ >> missing & 1) != 0 ? " is elsewhere" : " has ended before")),
                   std::countr_zero(mask));
}

}  // namespace plait::simulated_gpu
