#include <algorithm>

#include "gpu_worker/simulated_gpu/lanes.h"

// Moves, selections, logic, shifts, and fields of bits.

namespace plait::simulated_gpu {
namespace {

template <typename T>
T Copy(T a) {
  return a;
}
template <typename T>
T Select(T a, T b, bool condition) {
  return condition ? a : b;
}
template <typename T>
T And(T a, T b) {
  return static_cast<T>(a & b);
}
template <typename T>
T Or(T a, T b) {
  return static_cast<T>(a | b);
}
template <typename T>
T Xor(T a, T b) {
  return static_cast<T>(a ^ b);
}
template <typename T>
T Not(T a) {
  return static_cast<T>(~a);
}
bool NotPredicate(bool a) { return !a; }

// Shifts by the width or more leave zeros, or the sign.
template <typename T>
T ShiftLeft(T a, uint32_t count) {
  return count >= 8 * sizeof(T) ? T{0} : static_cast<T>(a << count);
}
template <typename T>
T ShiftRight(T a, uint32_t count) {
  constexpr uint32_t kBits = 8 * sizeof(T);
  if (count < kBits) return static_cast<T>(a >> count);
  return std::is_signed_v<T> ? static_cast<T>(a >> (kBits - 1)) : T{0};
}
uint32_t FunnelLeft(uint32_t low, uint32_t high, uint32_t count) {
  const uint64_t both = uint64_t{high} << 32 | low;
  return static_cast<uint32_t>(both << (count & 31) >> 32);
}
uint32_t FunnelRight(uint32_t low, uint32_t high, uint32_t count) {
  const uint64_t both = uint64_t{high} << 32 | low;
  return static_cast<uint32_t>(both >> (count & 31));
}

// `length` bits from bit `start` on; what is beyond the top is zero, or the sign of the highest bit
// of the field that exists.
template <typename T>
T Extract(T a, uint32_t start, uint32_t length) {
  constexpr uint32_t kBits = 8 * sizeof(T);
  using Unsigned = std::make_unsigned_t<T>;
  start &= 0xff;
  length &= 0xff;
  if (length == 0) return 0;
  const Unsigned moved = ShiftRight(static_cast<Unsigned>(a), start);
  const Unsigned mask = length >= kBits ? static_cast<Unsigned>(~Unsigned{0})
                                        : static_cast<Unsigned>((Unsigned{1} << length) - 1);
  const uint32_t top = std::min(start + length - 1, kBits - 1);
  const bool sign = std::is_signed_v<T> && (static_cast<Unsigned>(a) >> top & 1) != 0;
  if (!sign) return static_cast<T>(moved & mask);
  const uint32_t kept = top >= start ? top - start + 1 : 0;
  const Unsigned low = kept >= kBits ? static_cast<Unsigned>(~Unsigned{0})
                                     : static_cast<Unsigned>((Unsigned{1} << kept) - 1);
  return static_cast<T>((moved & low) | static_cast<Unsigned>(~low));
}

// b with its `length` bits from `start` on replaced by the low ones of a.
template <typename T>
T Insert(T a, T b, uint32_t start, uint32_t length) {
  constexpr uint32_t kBits = 8 * sizeof(T);
  start &= 0xff;
  length &= 0xff;
  if (start >= kBits || length == 0) return b;
  const T ones = length >= kBits ? static_cast<T>(~T{0}) : static_cast<T>((T{1} << length) - 1);
  const T mask = static_cast<T>(ones << start);
  return static_cast<T>((b & ~mask) | (static_cast<T>(a << start) & mask));
}

// Each nibble of the selector chooses one of the eight bytes of b:a; its top bit takes that byte's
// sign instead.
uint32_t Permute(uint32_t a, uint32_t b, uint32_t selector) {
  const uint64_t both = uint64_t{b} << 32 | a;
  uint32_t result = 0;
  for (int i = 0; i < 4; ++i) {
    const uint32_t nibble = selector >> (4 * i) & 0xf;
    uint32_t byte = static_cast<uint32_t>(both >> (8 * (nibble & 7))) & 0xff;
    if ((nibble & 8) != 0) byte = (byte & 0x80) != 0 ? 0xff : 0;
    result |= byte << (8 * i);
  }
  return result;
}

// Bit i of the table is the result for the inputs whose bits make the number i, a's the highest.
uint32_t LookUp(uint32_t a, uint32_t b, uint32_t c, uint32_t table) {
  uint32_t result = 0;
  for (uint32_t i = 0; i < 8; ++i) {
    if ((table >> i & 1) == 0) continue;
    result |= ((i & 4) != 0 ? a : ~a) & ((i & 2) != 0 ? b : ~b) & ((i & 1) != 0 ? c : ~c);
  }
  return result;
}

template <typename T>
uint32_t CountOnes(T a) {
  return static_cast<uint32_t>(std::popcount(a));
}
template <typename T>
uint32_t CountLeadingZeros(T a) {
  return static_cast<uint32_t>(std::countl_zero(a));
}
uint32_t Reverse(uint32_t a) {
  uint32_t result = 0;
  for (int i = 0; i < 32; ++i) result |= (a >> i & 1) << (31 - i);
  return result;
}

// One value into parts, the lowest first, and back.
template <typename Part, int kParts>
void Unpack(const LaneOperands& operands, uint32_t mask) {
  for (int lane = 0; lane < kLanes; ++lane) {
    if ((mask >> lane & 1) == 0) continue;
    const uint64_t whole = operands.in[0][lane];
    for (int i = 0; i < kParts; ++i) {
      operands.out[i][lane] = static_cast<Part>(whole >> (8 * sizeof(Part) * i));
    }
  }
}
template <typename Part, int kParts>
void Pack(const LaneOperands& operands, uint32_t mask) {
  for (int lane = 0; lane < kLanes; ++lane) {
    if ((mask >> lane & 1) == 0) continue;
    uint64_t whole = 0;
    for (int i = 0; i < kParts; ++i) {
      whole |= uint64_t{static_cast<Part>(operands.in[i][lane])} << (8 * sizeof(Part) * i);
    }
    operands.out[0][lane] = whole;
  }
}

constexpr InstructionClass kMove = InstructionClass::kMove;
using InstructionClass::kInteger;

template <typename T>
void AddMoves(OpcodeTable* table, std::initializer_list<const char*> types) {
  for (const char* type : types) {
    AddOpcode<Copy<T>>(table, std::string("mov.") + type, kMove);
    AddOpcode<Select<T>>(table, std::string("selp.") + type, kMove);
  }
}

template <typename T>
void AddLogic(OpcodeTable* table, const std::string& type) {
  AddOpcode<And<T>>(table, "and." + type, kInteger);
  AddOpcode<Or<T>>(table, "or." + type, kInteger);
  AddOpcode<Xor<T>>(table, "xor." + type, kInteger);
}

template <typename Unsigned>
void AddShifts(OpcodeTable* table, const std::string& bits) {
  AddOpcode<Not<Unsigned>>(table, "not.b" + bits, kInteger);
  AddOpcode<ShiftLeft<Unsigned>>(table, "shl.b" + bits, kInteger);
  AddOpcode<ShiftRight<Unsigned>>(table, "shr.u" + bits, kInteger);
  AddOpcode<ShiftRight<Unsigned>>(table, "shr.b" + bits, kInteger);
  AddOpcode<ShiftRight<std::make_signed_t<Unsigned>>>(table, "shr.s" + bits, kInteger);
}

template <typename Unsigned>
void AddFields(OpcodeTable* table, const std::string& bits) {
  AddOpcode<Extract<Unsigned>>(table, "bfe.u" + bits, kInteger);
  AddOpcode<Extract<std::make_signed_t<Unsigned>>>(table, "bfe.s" + bits, kInteger);
  AddOpcode<Insert<Unsigned>>(table, "bfi.b" + bits, kInteger);
  AddOpcode<CountOnes<Unsigned>>(table, "popc.b" + bits, kInteger);
  AddOpcode<CountLeadingZeros<Unsigned>>(table, "clz.b" + bits, kInteger);
}

}  // namespace

void AddBitOpcodes(OpcodeTable* table) {
  AddMoves<uint16_t>(table, {"b16", "u16", "s16"});
  AddMoves<uint32_t>(table, {"b32", "u32", "s32", "f32"});
  AddMoves<uint64_t>(table, {"b64", "u64", "s64", "f64"});
  AddOpcode<Copy<bool>>(table, "mov.pred", kMove);
  // Global memory has the same addresses in the generic space.
  AddOpcode<Copy<uint64_t>>(table, "cvta.to.global.u64", kMove);
  AddOpcode<Copy<uint64_t>>(table, "cvta.global.u64", kMove);
  AddLogic<bool>(table, "pred");
  AddLogic<uint16_t>(table, "b16");
  AddLogic<uint32_t>(table, "b32");
  AddLogic<uint64_t>(table, "b64");
  AddOpcode<NotPredicate>(table, "not.pred", kInteger);
  AddShifts<uint16_t>(table, "16");
  AddShifts<uint32_t>(table, "32");
  AddShifts<uint64_t>(table, "64");
  AddOpcode<FunnelLeft>(table, "shf.l.wrap.b32", kInteger);
  AddOpcode<FunnelRight>(table, "shf.r.wrap.b32", kInteger);
  AddFields<uint32_t>(table, "32");
  AddFields<uint64_t>(table, "64");
  AddOpcode<Permute>(table, "prmt.b32", kInteger);
  AddOpcode<LookUp>(table, "lop3.b32", kInteger);
  AddOpcode<Reverse>(table, "brev.b32", kInteger);
  // A mov with {} on either side; the decoder adds what is on which.
  (*table)["mov.b32.unpack2"] = {Unpack<uint16_t, 2>, 2, 1, kMove};
  (*table)["mov.b64.unpack2"] = {Unpack<uint32_t, 2>, 2, 1, kMove};
  (*table)["mov.b64.unpack4"] = {Unpack<uint16_t, 4>, 4, 1, kMove};
  (*table)["mov.b32.pack2"] = {Pack<uint16_t, 2>, 1, 2, kMove};
  (*table)["mov.b64.pack2"] = {Pack<uint32_t, 2>, 1, 2, kMove};
  (*table)["mov.b64.pack4"] = {Pack<uint16_t, 4>, 1, 4, kMove};
}

}  // namespace plait::simulated_gpu
