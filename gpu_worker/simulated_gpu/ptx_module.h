#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace plait::simulated_gpu {

// One operand as it is written.
struct PtxOperand {
  enum class Kind {
    kName,     // a register, special register, label or variable: `name`
    kInteger,  // `bits` in two's complement
    kFloat,    // 0f...: the 32 bits of a float
    kDouble,   // 0d...: the 64 bits of a double
    kAddress,  // [name + bits], or [bits] where the name is empty
    kVector,   // {a, b}: `parts`, names and numbers
    kPair,     // a|p: `parts`
  };
  Kind kind = Kind::kName;
  std::string name;
  uint64_t bits = 0;
  bool negated = false;  // !p
  std::vector<PtxOperand> parts;
};

// One instruction. `opcode` has all of its modifiers: "ld.global.nc.v4.f32".
struct PtxInstruction {
  int line = 0;       // of the text, from 1
  std::string guard;  // the register of @p; empty if there is none
  bool guard_negated = false;
  std::string opcode;
  std::vector<PtxOperand> operands;
};

// A parameter of an entry, or a variable of the module or of an entry.
struct PtxVariable {
  enum class Space { kParameter, kGlobal, kConstant, kShared, kLocal };
  Space space = Space::kParameter;
  std::string name;
  int64_t element_bytes = 0;
  int64_t bytes = 0;
  int64_t align_bytes = 1;
  std::vector<uint64_t> values;  // initial ones, one per element; fewer, then zeros follow
};

// One .entry. A register in an inner { } is renamed, so that names are unique in the kernel.
struct PtxKernel {
  std::string name;
  std::vector<PtxVariable> parameters;
  std::vector<PtxVariable> variables;            // .shared and .local
  std::map<std::string, std::string> registers;  // name -> type, "pred" or "b32"
  std::map<std::string, size_t> labels;          // name -> index of the instruction that follows
  std::vector<PtxInstruction> instructions;
  int threads_max = 0;  // .maxntid or .reqntid, as a product; 0: not said
};

// What a PTX text says, with no opinion about its opcodes: decoding knows those.
struct PtxModule {
  std::string target;                  // "sm_90"
  std::vector<PtxVariable> variables;  // .global and .const
  std::vector<PtxKernel> kernels;
};

// Reads the part of PTX that NVRTC writes for kernels without calls: no .func, no textures, no
// debugging sections. Limits: 64 MiB of text.
// Errors: kInvalidArgument with the line.
absl::StatusOr<PtxModule> ParsePtx(absl::string_view text);

}  // namespace plait::simulated_gpu
