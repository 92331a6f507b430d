#include <cmath>

#include "gpu_worker/simulated_gpu/lanes.h"

// setp: comparisons that give a predicate. Of floats, a plain comparison with a NaN is false, and
// one with a "u" (unordered) true.

namespace plait::simulated_gpu {
namespace {

template <typename T>
bool Equal(T a, T b) {
  return a == b;
}
template <typename T>
bool NotEqual(T a, T b) {
  return a != b;
}
template <typename T>
bool Less(T a, T b) {
  return a < b;
}
template <typename T>
bool LessOrEqual(T a, T b) {
  return a <= b;
}
template <typename T>
bool Greater(T a, T b) {
  return a > b;
}
template <typename T>
bool GreaterOrEqual(T a, T b) {
  return a >= b;
}
template <typename T>
bool Unordered(T a, T b) {
  return std::isnan(a) || std::isnan(b);
}
template <typename T>
bool Ordered(T a, T b) {
  return !Unordered(a, b);
}
template <typename T>
bool NotEqualOrdered(T a, T b) {
  return Ordered(a, b) && a != b;
}
template <auto F>
struct OrUnordered;
template <typename T, bool (*F)(T, T)>
struct OrUnordered<F> {
  static bool Call(T a, T b) { return Unordered(a, b) || F(a, b); }
};

template <auto F>
void AddSetp(OpcodeTable* table, const std::string& comparison, const std::string& type) {
  AddOpcode<F>(table, "setp." + comparison + "." + type, InstructionClass::kInteger);
}

template <typename T>
void AddOrders(OpcodeTable* table, const std::string& type) {
  AddSetp<Equal<T>>(table, "eq", type);
  AddSetp<NotEqual<T>>(table, "ne", type);
  AddSetp<Less<T>>(table, "lt", type);
  AddSetp<LessOrEqual<T>>(table, "le", type);
  AddSetp<Greater<T>>(table, "gt", type);
  AddSetp<GreaterOrEqual<T>>(table, "ge", type);
}

template <typename T>
void AddUnsigned(OpcodeTable* table, const std::string& bits) {
  AddOrders<T>(table, "u" + bits);
  AddOrders<std::make_signed_t<T>>(table, "s" + bits);
  AddSetp<Less<T>>(table, "lo", "u" + bits);
  AddSetp<LessOrEqual<T>>(table, "ls", "u" + bits);
  AddSetp<Greater<T>>(table, "hi", "u" + bits);
  AddSetp<GreaterOrEqual<T>>(table, "hs", "u" + bits);
  AddSetp<Equal<T>>(table, "eq", "b" + bits);
  AddSetp<NotEqual<T>>(table, "ne", "b" + bits);
}

template <typename T>
void AddFloats(OpcodeTable* table, const std::string& type) {
  AddOrders<T>(table, type);
  AddSetp<NotEqualOrdered<T>>(table, "ne", type);
  AddSetp<OrUnordered<Equal<T>>::Call>(table, "equ", type);
  AddSetp<OrUnordered<NotEqual<T>>::Call>(table, "neu", type);
  AddSetp<OrUnordered<Less<T>>::Call>(table, "ltu", type);
  AddSetp<OrUnordered<LessOrEqual<T>>::Call>(table, "leu", type);
  AddSetp<OrUnordered<Greater<T>>::Call>(table, "gtu", type);
  AddSetp<OrUnordered<GreaterOrEqual<T>>::Call>(table, "geu", type);
  AddSetp<Ordered<T>>(table, "num", type);
  AddSetp<Unordered<T>>(table, "nan", type);
}

}  // namespace

void AddComparisonOpcodes(OpcodeTable* table) {
  AddUnsigned<uint16_t>(table, "16");
  AddUnsigned<uint32_t>(table, "32");
  AddUnsigned<uint64_t>(table, "64");
  AddFloats<float>(table, "f32");
  AddFloats<double>(table, "f64");
}

}  // namespace plait::simulated_gpu
