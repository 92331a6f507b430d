#include "gpu_worker/simulated_gpu/parse_kernel.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "gpu_worker/simulated_gpu/ptx_types.h"

namespace plait::simulated_gpu {
namespace {

// 2^20: a kernel of ours has at most some thousands of each.
constexpr uint64_t kCountMax = 1 << 20;

absl::StatusOr<uint64_t> ParseCount(PtxReader& reader) {
  PLAIT_ASSIGN_OR_RETURN(const PtxOperand number, ParseNumber(reader));
  if (number.kind != PtxOperand::Kind::kInteger || number.bits > kCountMax) {
    return reader.Error("a number from 0 to 2^20 is expected");
  }
  return number.bits;
}

absl::StatusOr<PtxVariable::Space> ParseSpace(PtxReader& reader) {
  using Space = PtxVariable::Space;
  if (reader.Accept(".param")) return Space::kParameter;
  if (reader.Accept(".global")) return Space::kGlobal;
  if (reader.Accept(".const")) return Space::kConstant;
  if (reader.Accept(".shared")) return Space::kShared;
  if (reader.Accept(".local")) return Space::kLocal;
  return reader.Error("no state space");
}

absl::StatusOr<std::vector<uint64_t>> ParseInitializer(PtxReader& reader) {
  std::vector<uint64_t> values;
  const bool list = reader.Accept("{");
  do {
    PLAIT_ASSIGN_OR_RETURN(const PtxOperand value, ParseNumber(reader));
    values.push_back(value.bits);
  } while (list && reader.Accept(","));
  if (list) PLAIT_RETURN_IF_ERROR(reader.Expect("}"));
  return values;
}

// The body of a kernel, with the names of the scopes that are open.
class BodyReader {
 public:
  BodyReader(PtxReader& reader, PtxKernel* kernel) : reader_(reader), kernel_(kernel) {}

  absl::Status Read() {
    PLAIT_RETURN_IF_ERROR(reader_.Expect("{"));
    scopes_.emplace_back();
    while (!scopes_.empty()) {
      if (reader_.AtEnd()) return reader_.Error("a kernel without an end");
      PLAIT_RETURN_IF_ERROR(ReadOne());
    }
    return absl::OkStatus();
  }

 private:
  absl::Status ReadOne() {
    if (reader_.Accept("}")) {
      scopes_.pop_back();
      return absl::OkStatus();
    }
    if (reader_.Accept("{")) {
      scopes_.emplace_back();
      return absl::OkStatus();
    }
    // The string of a .pragma is no token.
    if (reader_.Accept(".pragma")) return reader_.Expect(";");
    if (reader_.Accept(".reg")) return ReadRegisters();
    if (reader_.token() == ".shared" || reader_.token() == ".local") {
      PLAIT_ASSIGN_OR_RETURN(PtxVariable variable, ParseVariable(reader_));
      kernel_->variables.push_back(std::move(variable));
      return reader_.Expect(";");
    }
    return ReadStatement();
  }

  // .reg .b32 %r<123>;  .reg .b16 low, high;
  absl::Status ReadRegisters() {
    const absl::string_view word = reader_.Take();
    const std::string type(word.substr(std::min<size_t>(1, word.size())));
    if (type != "pred" && BytesOfType(type) == 0) return reader_.Error("no type of a register");
    do {
      const std::string name(reader_.Take());
      if (!reader_.Accept("<")) {
        Declare(name, type);
        continue;
      }
      PLAIT_ASSIGN_OR_RETURN(const uint64_t count, ParseCount(reader_));
      PLAIT_RETURN_IF_ERROR(reader_.Expect(">"));
      for (uint64_t i = 0; i < count; ++i) Declare(absl::StrCat(name, i), type);
    } while (reader_.Accept(","));
    return reader_.Expect(";");
  }

  void Declare(const std::string& name, const std::string& type) {
    const std::string unique =
        scopes_.size() == 1 ? name : absl::StrCat(name, "@", kernel_->registers.size());
    scopes_.back()[name] = unique;
    kernel_->registers[unique] = type;
  }

  // Names that are no register stay as they are.
  std::string Unique(const std::string& name) const {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      const auto found = scope->find(name);
      if (found != scope->end()) return found->second;
    }
    return name;
  }

  void Rename(PtxOperand* operand) const {
    operand->name = Unique(operand->name);
    for (PtxOperand& part : operand->parts) Rename(&part);
  }

  absl::Status ReadStatement() {
    PtxInstruction instruction{.line = reader_.line()};
    if (reader_.Accept("@")) {
      instruction.guard_negated = reader_.Accept("!");
      instruction.guard = Unique(std::string(reader_.Take()));
    }
    if (!IsWord(reader_.token())) return reader_.Error("an instruction is expected");
    instruction.opcode = std::string(reader_.Take());
    if (instruction.guard.empty() && reader_.Accept(":")) {
      if (!kernel_->labels.emplace(instruction.opcode, kernel_->instructions.size()).second) {
        return reader_.Error("a label that was there before");
      }
      return absl::OkStatus();
    }
    if (reader_.Accept(";")) {
      kernel_->instructions.push_back(std::move(instruction));
      return absl::OkStatus();
    }
    do {
      PLAIT_ASSIGN_OR_RETURN(PtxOperand operand, ParseOperand(reader_));
      Rename(&operand);
      instruction.operands.push_back(std::move(operand));
    } while (reader_.Accept(","));
    kernel_->instructions.push_back(std::move(instruction));
    return reader_.Expect(";");
  }

  PtxReader& reader_;
  PtxKernel* kernel_;
  std::vector<std::map<std::string, std::string>> scopes_;  // name -> unique name, inner ones last
};

// .maxntid 128, 1, 1 and its like, in front of the body.
absl::Status ParseLimits(PtxReader& reader, PtxKernel* kernel) {
  while (reader.token() != "{") {
    const absl::string_view directive = reader.Take();
    if (directive != ".maxntid" && directive != ".reqntid" && directive != ".minnctapersm" &&
        directive != ".maxnreg") {
      return reader.Error(absl::StrCat("no directive of a kernel that is known: ", directive));
    }
    uint64_t product = 1;
    do {
      PLAIT_ASSIGN_OR_RETURN(const uint64_t count, ParseCount(reader));
      product *= count;
    } while (reader.Accept(","));
    if (absl::EndsWith(directive, "ntid")) kernel->threads_max = static_cast<int>(product);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<PtxVariable> ParseVariable(PtxReader& reader) {
  PtxVariable variable;
  PLAIT_ASSIGN_OR_RETURN(variable.space, ParseSpace(reader));
  uint64_t align_bytes = 0;
  if (reader.Accept(".align")) {
    PLAIT_ASSIGN_OR_RETURN(align_bytes, ParseCount(reader));
  }
  variable.element_bytes =
      BytesOfType(reader.token().substr(std::min<size_t>(1, reader.token().size())));
  if (variable.element_bytes == 0) return reader.Error("no type of a variable");
  reader.Take();
  // .param .u64 .ptr .global .align 16 p: what a pointer points to is a hint.
  if (reader.Accept(".ptr")) {
    if (reader.token() == ".global") reader.Take();
    if (reader.Accept(".align")) PLAIT_RETURN_IF_ERROR(ParseCount(reader).status());
  }
  if (!IsWord(reader.token())) return reader.Error("a name is expected");
  variable.name = std::string(reader.Take());
  variable.bytes = variable.element_bytes;
  variable.align_bytes = std::max<int64_t>(align_bytes, variable.element_bytes);
  while (reader.Accept("[")) {
    PLAIT_ASSIGN_OR_RETURN(const uint64_t count, ParseCount(reader));
    variable.bytes *= static_cast<int64_t>(count);
    if (variable.bytes > int64_t{1} << 30) return reader.Error("a variable of more than 1 GiB");
    PLAIT_RETURN_IF_ERROR(reader.Expect("]"));
  }
  if (reader.Accept("=")) {
    PLAIT_ASSIGN_OR_RETURN(variable.values, ParseInitializer(reader));
    if (static_cast<int64_t>(variable.values.size()) * variable.element_bytes > variable.bytes) {
      return reader.Error("more values than the variable has");
    }
  }
  return variable;
}

absl::StatusOr<PtxKernel> ParseKernel(PtxReader& reader) {
  PtxKernel kernel;
  if (!IsWord(reader.token())) return reader.Error("a kernel's name is expected");
  kernel.name = std::string(reader.Take());
  if (reader.Accept("(") && !reader.Accept(")")) {
    do {
      PLAIT_ASSIGN_OR_RETURN(PtxVariable parameter, ParseVariable(reader));
      kernel.parameters.push_back(std::move(parameter));
    } while (reader.Accept(","));
    PLAIT_RETURN_IF_ERROR(reader.Expect(")"));
  }
  PLAIT_RETURN_IF_ERROR(ParseLimits(reader, &kernel));
  PLAIT_RETURN_IF_ERROR(BodyReader(reader, &kernel).Read());
  return kernel;
}

}  // namespace plait::simulated_gpu
