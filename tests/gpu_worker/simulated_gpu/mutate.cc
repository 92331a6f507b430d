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

// But for the reciprocals that divisions by constants become, in 16 bits: the next number divides
// as well.
bool IsFactor(const PtxInstruction& instruction) {
  const std::string& opcode = instruction.opcode;
  if (opcode == "mul.wide.u16") return false;
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

// "%rd12" without its number; special registers and variables as they are.
std::string NameWithoutNumber(absl::string_view name) {
  const size_t digits = name.find_first_of("0123456789");
  if (absl::StartsWith(name, "$")) return "$";
  if (!absl::StartsWith(name, "%") || absl::StrContains(name, ".")) return std::string(name);
  return std::string(name.substr(0, digits));
}

std::string TextOf(const PtxOperand& operand) {
  const auto offset = static_cast<int64_t>(operand.bits);
  switch (operand.kind) {
    case PtxOperand::Kind::kName:
      return NameWithoutNumber(operand.name);
    case PtxOperand::Kind::kInteger:
      return absl::StrCat(offset);
    case PtxOperand::Kind::kAddress:
      return absl::StrCat("[", NameWithoutNumber(operand.name), "+", offset, "]");
    default:
      break;
  }
  return absl::StrCat(operand.parts.size(), " parts");
}

std::string TextOf(const PtxInstruction& instruction) {
  std::string text = instruction.guard.empty() ? "" : "@%p ";
  absl::StrAppend(&text, instruction.opcode);
  for (size_t i = 0; i < instruction.operands.size(); ++i) {
    absl::StrAppend(&text, i == 0 ? " " : ", ", TextOf(instruction.operands[i]));
  }
  return text;
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

// Plants the fault.
void Plant(Mutation mutation, size_t at, PtxKernel* kernel) {
  PtxInstruction& instruction = kernel->instructions[at];
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
}

PtxOperand Integer(uint64_t bits) {
  return {.kind = PtxOperand::Kind::kInteger, .name = {}, .bits = bits, .parts = {}};
}

PtxInstruction StoreToNowhere(int line) {
  PtxInstruction store;
  store.line = line;
  store.opcode = "st.global.u32";
  store.operands = {{.kind = PtxOperand::Kind::kAddress, .name = {}, .parts = {}}, Integer(0)};
  return store;
}

// At which numbers a comparison with `bound` and one with the next number differ.
std::vector<uint64_t> DifferingNumbers(absl::string_view comparison, uint64_t bound) {
  if (comparison == "gt" || comparison == "le") return {bound + 1};
  if (comparison == "ge" || comparison == "lt") return {bound};
  return {bound, bound + 1};
}

// Puts "setp.<comparison> alarm, <number>, <with>; @alarm st" in front of the instruction.
void AlarmIf(const std::string& comparison, const std::string& type, const PtxOperand& number,
             uint64_t with, size_t at, PtxKernel* kernel) {
  static constexpr const char* kAlarm = "%plait_alarm";
  kernel->registers[kAlarm] = "pred";
  PtxInstruction compare;
  compare.line = kernel->instructions[at].line;
  compare.opcode = absl::StrCat("setp.", comparison, ".", type);
  compare.operands = {{.name = kAlarm, .parts = {}}, number, Integer(with)};
  PtxInstruction store = StoreToNowhere(compare.line);
  store.guard = kAlarm;
  kernel->instructions.insert(kernel->instructions.begin() + at, {compare, store});
  for (auto& [label, target] : kernel->labels) {
    if (target > at) target += 2;
  }
}

void PlantAlarm(Mutation mutation, size_t at, PtxKernel* kernel) {
  const PtxInstruction instruction = kernel->instructions[at];
  const std::vector<std::string> words = absl::StrSplit(instruction.opcode, '.');
  if (mutation == Mutation::kMoveBound) {
    for (uint64_t number : DifferingNumbers(words[1], instruction.operands.back().bits)) {
      AlarmIf("eq", words.back(), instruction.operands[1], number, at, kernel);
    }
    return;
  }
  if (mutation == Mutation::kSwapStride) {
    const std::string type = words.back() == "b32" ? "u32" : words.back();
    AlarmIf("ne", type, instruction.operands[1], 0, at, kernel);
    return;
  }
  PtxInstruction store = StoreToNowhere(instruction.line);
  store.guard = instruction.guard;
  store.guard_negated = instruction.guard_negated;
  kernel->instructions[at] = store;
}

}  // namespace

const char* MutationName(Mutation mutation) {
  static constexpr const char* kNames[] = {"drop_barrier", "shift_offset", "drop_guard",
                                           "swap_stride",  "move_bound",   "drop_store",
                                           "other_shuffle"};
  return kNames[static_cast<int>(mutation)];
}

std::optional<Mutant> Mutate(Mutation mutation, Random& random, const PtxKernel& kernel) {
  std::vector<size_t> places;
  for (size_t i = 0; i < kernel.instructions.size(); ++i) {
    if (Fits(mutation, kernel.instructions[i])) places.push_back(i);
  }
  if (places.empty()) return std::nullopt;
  const size_t number = random.Next() % places.size();
  const size_t at = places[number];
  Mutant mutant{.place = absl::StrCat(number + 1, " of ", places.size(), ", ",
                                      TextOf(kernel.instructions[at])),
                .kernel = kernel,
                .alarmed = kernel};
  Plant(mutation, at, &mutant.kernel);
  PlantAlarm(mutation, at, &mutant.alarmed);
  return mutant;
}

}  // namespace plait::simulated_gpu
