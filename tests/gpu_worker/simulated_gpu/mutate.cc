#include "tests/gpu_worker/simulated_gpu/mutate.h"

#include <functional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gpu_worker/simulated_gpu/ptx_types.h"

namespace plait::simulated_gpu {
namespace {

bool IsMemory(const PtxInstruction& instruction) {
  return (absl::StartsWith(instruction.opcode, "ld.") &&
          !absl::StartsWith(instruction.opcode, "ld.param")) ||
         absl::StartsWith(instruction.opcode, "st.");
}

bool EndsInNumber(const PtxInstruction& instruction) {
  return !instruction.operands.empty() &&
         instruction.operands.back().kind == PtxOperand::Kind::kInteger;
}

bool IsFactor(const PtxInstruction& instruction) {
  const std::string& opcode = instruction.opcode;
  if (absl::StartsWith(opcode, "mad.lo")) {
    return instruction.operands.size() == 4 &&
           instruction.operands[2].kind == PtxOperand::Kind::kInteger;
  }
  return EndsInNumber(instruction) && (absl::StartsWith(opcode, "mul.wide") ||
                                       absl::StartsWith(opcode, "mul.lo") || opcode == "shl.b32");
}

bool Fits(Mutation mutation, const PtxInstruction& instruction) {
  switch (mutation) {
    case Mutation::kDropBarrier:
      return instruction.opcode == "bar.sync";
    case Mutation::kShiftOffset:
      return IsMemory(instruction);
    case Mutation::kDropGuard:
      return instruction.opcode == "bra" && !instruction.guard.empty();
    case Mutation::kSwapStride:
      return IsFactor(instruction);
    case Mutation::kMoveBound:
      return absl::StartsWith(instruction.opcode, "setp.") && EndsInNumber(instruction);
    case Mutation::kDropStore:
      return absl::StartsWith(instruction.opcode, "st.");
    case Mutation::kOtherShuffle:
      return absl::StartsWith(instruction.opcode, "shfl.");
  }
  return false;
}

// The instruction becomes a jump to the next one, so that labels stay where they are.
void Drop(PtxKernel* kernel, size_t at) {
  const std::string label = "$behind_mutant";
  kernel->labels[label] = at + 1;
  PtxInstruction jump;
  jump.line = kernel->instructions[at].line;
  jump.opcode = "bra";
  jump.operands.emplace_back();
  jump.operands[0].name = label;
  kernel->instructions[at] = jump;
}

// One element further.
void ShiftOffset(PtxInstruction* instruction) {
  const std::vector<std::string> words = absl::StrSplit(instruction->opcode, '.');
  const bool load = words[0] == "ld";
  instruction->operands[load ? 1 : 0].bits += static_cast<uint64_t>(BytesOfType(words.back()));
}

}  // namespace

const char* MutationName(Mutation mutation) {
  static constexpr const char* kNames[] = {"drop_barrier", "shift_offset", "drop_guard",
                                           "swap_stride",  "move_bound",   "drop_store",
                                           "other_shuffle"};
  return kNames[static_cast<int>(mutation)];
}

std::string Mutate(Mutation mutation, Random& random, PtxKernel* kernel) {
  std::vector<size_t> places;
  for (size_t i = 0; i < kernel->instructions.size(); ++i) {
    if (Fits(mutation, kernel->instructions[i])) places.push_back(i);
  }
  if (places.empty()) return "";
  const size_t at = places[random.Next() % places.size()];
  PtxInstruction& instruction = kernel->instructions[at];
  const std::string place = absl::StrCat("PTX line ", instruction.line, ", ", instruction.opcode);
  switch (mutation) {
    case Mutation::kDropBarrier:
    case Mutation::kDropGuard:
    case Mutation::kDropStore:
      Drop(kernel, at);
      break;
    case Mutation::kShiftOffset:
      ShiftOffset(&instruction);
      break;
    case Mutation::kSwapStride:
      instruction.operands[2].bits += 1;
      break;
    case Mutation::kMoveBound:
      instruction.operands.back().bits += 1;
      break;
    case Mutation::kOtherShuffle:
      // From the lane itself: operand 2 is a register mostly.
      instruction.operands[2] = {};
      instruction.operands[2].kind = PtxOperand::Kind::kInteger;
      break;
  }
  return place;
}

}  // namespace plait::simulated_gpu
