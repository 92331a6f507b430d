#include "gpu_worker/simulated_gpu/decoder.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "gpu_worker/simulated_gpu/ptx_types.h"

namespace plait::simulated_gpu {
namespace {

constexpr uint64_t kVariableGapBytes = 4096;
constexpr uint64_t kSharedBase = 4096;
constexpr uint64_t kLocalBase = 4096;
// Above every address that DeviceMemory gives out.
constexpr uint64_t kModuleBase = uint64_t{1} << 50;

uint64_t RoundUp(uint64_t value, uint64_t to) { return (value + to - 1) / to * to; }

// The place behind the last variable of `placed`.
uint64_t NextAddress(const std::vector<PlacedVariable>& placed, uint64_t base) {
  if (placed.empty()) return base;
  return RoundUp(placed.back().address + placed.back().bytes + kVariableGapBytes, 256);
}

std::vector<std::byte> InitialBytes(const PtxVariable& variable) {
  std::vector<std::byte> bytes(variable.bytes);
  for (size_t i = 0; i < variable.values.size(); ++i) {
    const auto size = std::min<size_t>(variable.element_bytes, 8);
    std::memcpy(bytes.data() + i * variable.element_bytes, &variable.values[i], size);
  }
  return bytes;
}

// %tid.x and its like.
bool ParseSpecial(absl::string_view name, Slot* slot) {
  if (name == "%laneid" || name == "%warpid") {
    slot->kind = name == "%laneid" ? Slot::Kind::kLane : Slot::Kind::kWarp;
    return true;
  }
  constexpr std::pair<absl::string_view, Slot::Kind> kSpecials[] = {
      {"%tid.", Slot::Kind::kThread},
      {"%ntid.", Slot::Kind::kThreads},
      {"%ctaid.", Slot::Kind::kBlock},
      {"%nctaid.", Slot::Kind::kBlocks}};
  for (const auto& [prefix, kind] : kSpecials) {
    if (name.size() != prefix.size() + 1 || name.substr(0, prefix.size()) != prefix) continue;
    slot->kind = kind;
    slot->axis = name.back() - 'x';
    return slot->axis >= 0 && slot->axis < 3;
  }
  return false;
}

}  // namespace

absl::Status Decoder::Unknown(const PtxInstruction& from, absl::string_view what) const {
  return absl::UnimplementedError(absl::StrCat("kernel ", kernel_.name, ", PTX line ", from.line,
                                               ", ", from.opcode, ": ", what));
}

absl::Status Decoder::Invalid(const PtxInstruction& from, absl::string_view what) const {
  return absl::InvalidArgumentError(absl::StrCat("kernel ", kernel_.name, ", PTX line ", from.line,
                                                 ", ", from.opcode, ": ", what));
}

absl::Status Decoder::PlaceParameters() {
  for (const PtxVariable& parameter : kernel_.parameters) {
    const auto offset = static_cast<int64_t>(
        RoundUp(program_.parameter_bytes, static_cast<uint64_t>(parameter.align_bytes)));
    parameter_offsets_[parameter.name] = offset;
    program_.parameters.push_back({offset, parameter.bytes});
    program_.parameter_bytes = offset + parameter.bytes;
  }
  return absl::OkStatus();
}

absl::Status Decoder::PlaceVariables() {
  for (const PtxVariable& variable : kernel_.variables) {
    if (variable.bytes == 0) {
      return absl::UnimplementedError(
          absl::StrCat("kernel ", kernel_.name, ": ", variable.name, " has no size"));
    }
    const bool shared = variable.space == PtxVariable::Space::kShared;
    std::vector<PlacedVariable>& placed = shared ? program_.shared : program_.local;
    const uint64_t address = NextAddress(placed, shared ? kSharedBase : kLocalBase);
    placed.push_back({variable.name, address, variable.bytes, {}});
    addresses_[variable.name] = address;
  }
  return absl::OkStatus();
}

absl::Status Decoder::PlaceModuleVariable(const std::string& name) {
  for (const PtxVariable& variable : module_.variables) {
    if (variable.name != name) continue;
    const uint64_t address = NextAddress(program_.module, kModuleBase);
    program_.module.push_back({name, address, variable.bytes, InitialBytes(variable)});
    addresses_[name] = address;
    return absl::OkStatus();
  }
  return absl::NotFoundError(name);
}

int Decoder::SlotNamed(const std::string& name, Slot slot) {
  const auto [found, added] = slots_.emplace(name, static_cast<int>(program_.slots.size()));
  if (added) program_.slots.push_back(slot);
  return found->second;
}

int Decoder::ConstantSlot(uint64_t value) {
  const auto [found, added] = constants_.emplace(value, static_cast<int>(program_.slots.size()));
  if (added) program_.slots.push_back({.kind = Slot::Kind::kConstant, .value = value});
  return found->second;
}

absl::StatusOr<int> Decoder::Source(const PtxInstruction& from, const PtxOperand& operand) {
  if (operand.negated) return Unknown(from, absl::StrCat("!", operand.name));
  switch (operand.kind) {
    case PtxOperand::Kind::kInteger:
    case PtxOperand::Kind::kFloat:
    case PtxOperand::Kind::kDouble:
      return ConstantSlot(operand.bits);
    case PtxOperand::Kind::kName:
      break;
    default:
      return Unknown(from, "an operand of this form");
  }
  const std::string& name = operand.name;
  if (kernel_.registers.count(name) != 0) return SlotNamed(name, {});
  Slot special;
  if (ParseSpecial(name, &special)) return SlotNamed(name, special);
  if (addresses_.count(name) == 0 && !PlaceModuleVariable(name).ok()) {
    return Unknown(from, absl::StrCat("\"", name, "\" is no register or variable"));
  }
  return ConstantSlot(addresses_[name]);
}

absl::StatusOr<int> Decoder::Target(const PtxInstruction& from, const PtxOperand& operand) {
  if (operand.kind != PtxOperand::Kind::kName || operand.negated ||
      kernel_.registers.count(operand.name) == 0) {
    return Unknown(from, absl::StrCat("\"", operand.name, "\" is no register"));
  }
  return SlotNamed(operand.name, {});
}

// mov.b32 {a, b}, c is "mov.b32.unpack2" in the table, mov.b32 c, {a, b} "mov.b32.pack2".
absl::Status Decoder::DecodeLanes(const PtxInstruction& from, Instruction* to) {
  std::vector<PtxOperand> operands = from.operands;
  std::string name = from.opcode;
  for (size_t i = 0; i < from.operands.size() && i < 2; ++i) {
    const std::vector<PtxOperand>& parts = from.operands[i].parts;
    if (from.operands[i].kind != PtxOperand::Kind::kVector) continue;
    name += absl::StrCat(i == 0 ? ".unpack" : ".pack", parts.size());
    operands.erase(operands.begin() + i);
    operands.insert(operands.begin() + i, parts.begin(), parts.end());
  }
  const auto found = LaneOpcodes().find(name);
  if (found == LaneOpcodes().end()) return Unknown(from, "an opcode that is not known");
  const LaneOpcode& opcode = found->second;
  if (operands.size() != static_cast<size_t>(opcode.outputs + opcode.inputs)) {
    return Invalid(from, absl::StrCat(operands.size(), " operands"));
  }
  to->kind = Instruction::Kind::kLanes;
  to->function = opcode.function;
  to->instruction_class = opcode.instruction_class;
  for (int i = 0; i < opcode.outputs; ++i) {
    PLAIT_ASSIGN_OR_RETURN(to->out[i], Target(from, operands[i]));
  }
  for (int i = 0; i < opcode.inputs; ++i) {
    PLAIT_ASSIGN_OR_RETURN(to->in[i], Source(from, operands[opcode.outputs + i]));
  }
  return absl::OkStatus();
}

absl::Status Decoder::DecodeOne(const PtxInstruction& from, Instruction* to) {
  to->line = from.line;
  to->opcode = from.opcode;
  if (!from.guard.empty()) {
    PtxOperand guard;
    guard.name = from.guard;
    PLAIT_ASSIGN_OR_RETURN(to->guard, Target(from, guard));
    to->guard_negated = from.guard_negated;
  }
  const absl::string_view opcode = from.opcode;
  if (opcode.substr(0, 3) == "ld." || opcode.substr(0, 3) == "st.") return DecodeMemory(from, to);
  bool known = true;
  PLAIT_RETURN_IF_ERROR(DecodeControl(from, to, &known));
  return known ? absl::OkStatus() : DecodeLanes(from, to);
}

namespace {

// "sm_90a, debug" -> 90; 0 where nothing is said.
int ArchitectureOf(const std::string& target) {
  int architecture = 0;
  for (char c : target) {
    if (c >= '0' && c <= '9') architecture = std::min(10 * architecture + (c - '0'), 1000);
  }
  return architecture;
}

}  // namespace

absl::StatusOr<Program> Decoder::Decode() {
  program_.kernel = kernel_.name;
  program_.threads_max = kernel_.threads_max;
  program_.architecture = ArchitectureOf(module_.target);
  PLAIT_RETURN_IF_ERROR(PlaceParameters());
  PLAIT_RETURN_IF_ERROR(PlaceVariables());
  for (const PtxInstruction& from : kernel_.instructions) {
    Instruction instruction;
    PLAIT_RETURN_IF_ERROR(DecodeOne(from, &instruction));
    program_.instructions.push_back(std::move(instruction));
  }
  FindReconvergence(&program_.instructions);
  return std::move(program_);
}

absl::StatusOr<Program> DecodeKernel(const PtxModule& module, absl::string_view name) {
  for (const PtxKernel& kernel : module.kernels) {
    if (kernel.name == name || (name.empty() && module.kernels.size() == 1)) {
      return Decoder(module, kernel).Decode();
    }
  }
  return absl::NotFoundError(
      absl::StrCat("no kernel \"", name, "\" among ", module.kernels.size()));
}

}  // namespace plait::simulated_gpu
