#pragma once

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "gpu_worker/simulated_gpu/program.h"

namespace plait::simulated_gpu {

// What decoding one kernel needs in all of its files. decoder.cc has the slots and the list of
// opcodes, decode_memory.cc loads, stores and addresses, decode_control.cc what warps do together,
// reconvergence.cc where lanes meet again.
class Decoder {
 public:
  Decoder(const PtxModule& module, const PtxKernel& kernel) : module_(module), kernel_(kernel) {}

  // Errors: as DecodeKernel().
  absl::StatusOr<Program> Decode();

 private:
  absl::Status PlaceParameters();
  absl::Status PlaceVariables();
  absl::Status PlaceModuleVariable(const std::string& name);

  absl::Status DecodeOne(const PtxInstruction& from, Instruction* to);
  // The opcodes that are functions of lanes.
  absl::Status DecodeLanes(const PtxInstruction& from, Instruction* to);
  // ld and st.
  absl::Status DecodeMemory(const PtxInstruction& from, Instruction* to);
  absl::Status DecodeAddress(const PtxInstruction& from, const PtxOperand& address,
                             Instruction* to);
  // bra, ret, exit, barriers, shuffles, votes, products of warps. `known` becomes false if it is
  // none of them.
  absl::Status DecodeControl(const PtxInstruction& from, Instruction* to, bool* known);
  absl::Status DecodeBranch(const PtxInstruction& from, Instruction* to);
  absl::Status DecodeShuffle(const PtxInstruction& from, Instruction* to);
  absl::Status DecodeVote(const PtxInstruction& from, Instruction* to);
  absl::Status DecodeProduct(const PtxInstruction& from, Instruction* to);

  // The slot of an operand that is read: a register, number, special register, or the address of a
  // variable.
  absl::StatusOr<int> Source(const PtxInstruction& from, const PtxOperand& operand);
  // The slot of a register that is written.
  absl::StatusOr<int> Target(const PtxInstruction& from, const PtxOperand& operand);
  int ConstantSlot(uint64_t value);
  int SlotNamed(const std::string& name, Slot slot);

  absl::Status Unknown(const PtxInstruction& from, absl::string_view what) const;
  absl::Status Invalid(const PtxInstruction& from, absl::string_view what) const;

  const PtxModule& module_;
  const PtxKernel& kernel_;
  Program program_;
  std::map<std::string, int> slots_;  // of registers and special registers
  std::map<uint64_t, int> constants_;
  std::map<std::string, uint64_t> addresses_;  // of variables that are placed
  std::map<std::string, int64_t> parameter_offsets_;
};

// Sets `reconvergence` of every branch.
void FindReconvergence(std::vector<Instruction>* instructions);

}  // namespace plait::simulated_gpu
