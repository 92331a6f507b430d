#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/container/flat_hash_map.h"

// What an instruction without memory and control does: the same function of some values, for every
// lane of a warp that is active. A register is 32 slots of 64 bits, one per lane; a value fills the
// low bits of a slot, and whoever reads it as another type gets its low bits, as PTX has it.
// Predicates are slots of 0 and 1.

namespace plait::simulated_gpu {

inline constexpr int kLanes = 32;
inline constexpr uint32_t kAllLanes = 0xffffffffu;

// The slots that one instruction reads and writes. An output may be one of the inputs.
struct LaneOperands {
  uint64_t* out[4];
  const uint64_t* in[4];
};

// Computes the lanes of `mask`; the others keep what they have.
using LaneFunction = void (*)(const LaneOperands& operands, uint32_t mask);

// What is counted together.
enum class InstructionClass { kMove, kInteger, kFloat, kSpecial, kConversion, kMemory, kControl };
inline constexpr int kInstructionClasses = 7;

struct LaneOpcode {
  LaneFunction function = nullptr;
  int outputs = 1;
  int inputs = 0;
  InstructionClass instruction_class = InstructionClass::kMove;
};

// Opcode with all modifiers -> what it does.
using OpcodeTable = absl::flat_hash_map<std::string, LaneOpcode>;

// All of them, filled once from the files opcodes_*.cc. Thread-safe.
const OpcodeTable& LaneOpcodes();

void AddFloatOpcodes(OpcodeTable* table);
void AddIntegerOpcodes(OpcodeTable* table);
void AddBitOpcodes(OpcodeTable* table);
void AddComparisonOpcodes(OpcodeTable* table);
void AddConversionOpcodes(OpcodeTable* table);

template <typename T>
T FromSlot(uint64_t slot) {
  if constexpr (std::is_same_v<T, float>) {
    return std::bit_cast<float>(static_cast<uint32_t>(slot));
  } else if constexpr (std::is_same_v<T, double>) {
    return std::bit_cast<double>(slot);
  } else if constexpr (std::is_same_v<T, bool>) {
    return slot != 0;
  } else {
    return static_cast<T>(slot);
  }
}

// Signed integers fill the slot with their sign, which no reader sees.
template <typename T>
uint64_t ToSlot(T value) {
  if constexpr (std::is_same_v<T, float>) {
    return std::bit_cast<uint32_t>(value);
  } else if constexpr (std::is_same_v<T, double>) {
    return std::bit_cast<uint64_t>(value);
  } else {
    return static_cast<uint64_t>(value);
  }
}

// The function `F` of plain values, for each lane.
template <auto F>
struct EachLane;

template <typename Result, typename... Arguments, Result (*F)(Arguments...)>
struct EachLane<F> {
  static constexpr int kInputs = sizeof...(Arguments);

  static void Run(const LaneOperands& operands, uint32_t mask) {
    RunIndexed(operands, mask, std::index_sequence_for<Arguments...>());
  }

 private:
  template <size_t... Index>
  static void RunIndexed(const LaneOperands& operands, uint32_t mask,
                         std::index_sequence<Index...>) {
    for (int lane = 0; lane < kLanes; ++lane) {
      if ((mask >> lane & 1) == 0) continue;
      operands.out[0][lane] = ToSlot<Result>(F(FromSlot<Arguments>(operands.in[Index][lane])...));
    }
  }
};

template <auto F>
void AddOpcode(OpcodeTable* table, const std::string& name, InstructionClass instruction_class) {
  (*table)[name] = {EachLane<F>::Run, 1, EachLane<F>::kInputs, instruction_class};
}

}  // namespace plait::simulated_gpu
