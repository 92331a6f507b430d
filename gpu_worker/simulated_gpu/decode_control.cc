#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "gpu_worker/simulated_gpu/decoder.h"

namespace plait::simulated_gpu {

absl::Status Decoder::DecodeBranch(const PtxInstruction& from, Instruction* to) {
  if (from.operands.size() != 1) return Invalid(from, "one label is expected");
  const auto found = kernel_.labels.find(from.operands[0].name);
  if (found == kernel_.labels.end()) {
    return Invalid(from, absl::StrCat("no label \"", from.operands[0].name, "\""));
  }
  to->kind = Instruction::Kind::kBranch;
  to->target = static_cast<int>(found->second);
  return absl::OkStatus();
}

// shfl.sync.mode.b32 d[|p], a, b, c, membermask: in[0..3] are a, b, c and the mask.
absl::Status Decoder::DecodeShuffle(const PtxInstruction& from, Instruction* to) {
  using Shuffle = Instruction::Shuffle;
  to->kind = Instruction::Kind::kShuffle;
  if (from.opcode == "shfl.sync.up.b32") {
    to->shuffle = Shuffle::kUp;
  } else if (from.opcode == "shfl.sync.down.b32") {
    to->shuffle = Shuffle::kDown;
  } else if (from.opcode == "shfl.sync.bfly.b32") {
    to->shuffle = Shuffle::kButterfly;
  } else if (from.opcode == "shfl.sync.idx.b32") {
    to->shuffle = Shuffle::kIndex;
  } else {
    return Unknown(from, "a shuffle that is not known");
  }
  if (from.operands.size() != 5) return Invalid(from, "five operands are expected");
  const PtxOperand& result = from.operands[0];
  const bool pair = result.kind == PtxOperand::Kind::kPair;
  PLAIT_ASSIGN_OR_RETURN(to->out[0], Target(from, pair ? result.parts[0] : result));
  if (pair) {
    PLAIT_ASSIGN_OR_RETURN(to->out[1], Target(from, result.parts[1]));
  }
  for (int i = 0; i < 4; ++i) {
    PLAIT_ASSIGN_OR_RETURN(to->in[i], Source(from, from.operands[i + 1]));
  }
  return absl::OkStatus();
}

// vote.sync.mode d, [!]a, membermask.
absl::Status Decoder::DecodeVote(const PtxInstruction& from, Instruction* to) {
  using Vote = Instruction::Vote;
  to->kind = Instruction::Kind::kVote;
  if (from.opcode == "vote.sync.ballot.b32") {
    to->vote = Vote::kBallot;
  } else if (from.opcode == "vote.sync.any.pred") {
    to->vote = Vote::kAny;
  } else if (from.opcode == "vote.sync.all.pred") {
    to->vote = Vote::kAll;
  } else if (from.opcode == "vote.sync.uni.pred") {
    to->vote = Vote::kUniform;
  } else {
    return Unknown(from, "a vote that is not known");
  }
  if (from.operands.size() != 3) return Invalid(from, "three operands are expected");
  PLAIT_ASSIGN_OR_RETURN(to->out[0], Target(from, from.operands[0]));
  PLAIT_ASSIGN_OR_RETURN(to->in[0], Source(from, from.operands[1]));
  PLAIT_ASSIGN_OR_RETURN(to->in[1], Source(from, from.operands[2]));
  return absl::OkStatus();
}

// mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {d}, {a}, {b}, {c}.
absl::Status Decoder::DecodeProduct(const PtxInstruction& from, Instruction* to) {
  to->kind = Instruction::Kind::kProduct;
  to->instruction_class = InstructionClass::kFloat;
  if (from.opcode != "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32") {
    return Unknown(from, "a product that is not known");
  }
  constexpr size_t kParts[] = {4, 4, 2, 4};
  if (from.operands.size() != 4) return Invalid(from, "four operands are expected");
  int* const slots[] = {to->out, to->in, to->right, to->addend};
  for (size_t operand = 0; operand < 4; ++operand) {
    const std::vector<PtxOperand>& parts = from.operands[operand].parts;
    if (from.operands[operand].kind != PtxOperand::Kind::kVector ||
        parts.size() != kParts[operand]) {
      return Invalid(
          from, absl::StrCat("operand ", operand, " has to have ", kParts[operand], " registers"));
    }
    for (size_t part = 0; part < parts.size(); ++part) {
      PLAIT_ASSIGN_OR_RETURN(slots[operand][part],
                             operand == 0 ? Target(from, parts[part]) : Source(from, parts[part]));
    }
  }
  return absl::OkStatus();
}

absl::Status Decoder::DecodeControl(const PtxInstruction& from, Instruction* to, bool* known) {
  const std::string& opcode = from.opcode;
  to->instruction_class = InstructionClass::kControl;
  if (opcode == "bra" || opcode == "bra.uni") return DecodeBranch(from, to);
  if (absl::StartsWith(opcode, "shfl.")) return DecodeShuffle(from, to);
  if (absl::StartsWith(opcode, "vote.")) return DecodeVote(from, to);
  if (absl::StartsWith(opcode, "mma.")) return DecodeProduct(from, to);
  if (opcode == "ret" || opcode == "exit") {
    to->kind = Instruction::Kind::kExit;
    return absl::OkStatus();
  }
  if (opcode == "bar.sync" || opcode == "barrier.sync" || opcode == "barrier.sync.aligned") {
    to->kind = Instruction::Kind::kBarrier;
    // Another barrier, or one of fewer threads than the block has, is another matter.
    if (from.operands.size() != 1 || from.operands[0].kind != PtxOperand::Kind::kInteger ||
        from.operands[0].bits != 0) {
      return Unknown(from, "a barrier other than that of the whole block, 0");
    }
    return absl::OkStatus();
  }
  if (opcode == "bar.warp.sync") {
    to->kind = Instruction::Kind::kWarpBarrier;
    if (from.operands.size() != 1) return Invalid(from, "one operand is expected");
    PLAIT_ASSIGN_OR_RETURN(to->in[0], Source(from, from.operands[0]));
    return absl::OkStatus();
  }
  if (opcode == "griddepcontrol.launch_dependents") {
    to->kind = Instruction::Kind::kTrigger;
    program_.triggers = true;
    return absl::OkStatus();
  }
  if (opcode == "griddepcontrol.wait") {
    to->kind = Instruction::Kind::kWait;
    return absl::OkStatus();
  }
  if (opcode == "activemask.b32") {
    to->kind = Instruction::Kind::kActiveMask;
    if (from.operands.size() != 1) return Invalid(from, "one operand is expected");
    PLAIT_ASSIGN_OR_RETURN(to->out[0], Target(from, from.operands[0]));
    return absl::OkStatus();
  }
  *known = false;
  return absl::OkStatus();
}

}  // namespace plait::simulated_gpu
