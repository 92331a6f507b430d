#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "gpu_worker/simulated_gpu/decoder.h"
#include "gpu_worker/simulated_gpu/ptx_types.h"

// ld.{param,global,shared,local,const}[.nc].[v2,v4].type and st alike, and st.volatile. Hints for
// caches do nothing; ld.volatile, orders (.relaxed, .acquire) and the generic space are not known.

namespace plait::simulated_gpu {
namespace {

bool ParseSpaceName(absl::string_view name, PtxVariable::Space* space) {
  using Space = PtxVariable::Space;
  if (name == "param") *space = Space::kParameter;
  if (name == "global") *space = Space::kGlobal;
  if (name == "shared") *space = Space::kShared;
  if (name == "local") *space = Space::kLocal;
  if (name == "const") *space = Space::kConstant;
  return name == "param" || name == "global" || name == "shared" || name == "local" ||
         name == "const";
}

bool IsCacheHint(absl::string_view name) {
  return name == "ca" || name == "cg" || name == "cs" || name == "lu" || name == "wb" ||
         name == "wt";
}

}  // namespace

absl::Status Decoder::DecodeAddress(const PtxInstruction& from, const PtxOperand& address,
                                    Instruction* to) {
  if (address.kind != PtxOperand::Kind::kAddress) return Invalid(from, "no address");
  to->offset = static_cast<int64_t>(address.bits);
  if (to->space == PtxVariable::Space::kParameter) {
    const auto found = parameter_offsets_.find(address.name);
    if (found == parameter_offsets_.end()) {
      return Invalid(from, absl::StrCat("no parameter \"", address.name, "\""));
    }
    to->offset += found->second;
    if (to->offset < 0 || to->offset + to->count * to->element_bytes > program_.parameter_bytes) {
      return Invalid(from, "beyond the parameters");
    }
    return absl::OkStatus();
  }
  if (address.name.empty()) {
    to->in[0] = ConstantSlot(0);
    return absl::OkStatus();
  }
  PtxOperand base;
  base.name = address.name;
  PLAIT_ASSIGN_OR_RETURN(to->in[0], Source(from, base));
  return absl::OkStatus();
}

absl::Status Decoder::DecodeMemory(const PtxInstruction& from, Instruction* to) {
  std::vector<std::string> words = absl::StrSplit(from.opcode, '.');
  const bool load = words[0] == "ld";
  to->kind = load ? Instruction::Kind::kLoad : Instruction::Kind::kStore;
  to->instruction_class = InstructionClass::kMemory;
  if (from.operands.size() != 2) return Invalid(from, "two operands are expected");
  if (!load && words.size() > 1 && words[1] == "volatile") {
    to->is_strong = true;
    words.erase(words.begin() + 1);
  }
  if (words.size() < 3 || !ParseSpaceName(words[1], &to->space)) {
    return Unknown(from, "no state space that is known");
  }
  for (size_t i = 2; i + 1 < words.size(); ++i) {
    if (words[i] == "v2" || words[i] == "v4") {
      to->count = words[i] == "v2" ? 2 : 4;
    } else if (words[i] == "nc" && load) {
      to->read_only = true;
    } else if (!IsCacheHint(words[i])) {
      return Unknown(from, absl::StrCat(".", words[i], " is not known"));
    }
  }
  to->element_bytes = static_cast<int>(BytesOfType(words.back()));
  to->sign_extends = load && IsSigned(words.back());
  if (to->element_bytes == 0 || to->element_bytes > 8 || to->count * to->element_bytes > 16) {
    return Unknown(from, absl::StrCat(".", words.back(), " is not known"));
  }
  PLAIT_RETURN_IF_ERROR(DecodeAddress(from, from.operands[load ? 1 : 0], to));
  // A store's values stand where a load's do.
  const PtxOperand& value = from.operands[load ? 0 : 1];
  const bool vector = value.kind == PtxOperand::Kind::kVector;
  if ((vector ? static_cast<int>(value.parts.size()) : 1) != to->count) {
    return Invalid(from, absl::StrCat("not ", to->count, " values"));
  }
  for (int i = 0; i < to->count; ++i) {
    const PtxOperand& part = vector ? value.parts[i] : value;
    PLAIT_ASSIGN_OR_RETURN(to->out[i], load ? Target(from, part) : Source(from, part));
  }
  const int64_t bytes = to->element_bytes * to->count;
  if (to->space == PtxVariable::Space::kShared) {
    program_.shared_granule_bytes = std::min(program_.shared_granule_bytes, bytes);
  } else {
    program_.global_granule_bytes = std::min(program_.global_granule_bytes, bytes);
  }
  return absl::OkStatus();
}

}  // namespace plait::simulated_gpu
