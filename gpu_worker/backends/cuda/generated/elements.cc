#include "gpu_worker/backends/cuda/generated/elements.h"

namespace plait::cuda {
namespace {

constexpr const char* kVectors = R"(
template <typename E, int N> struct alignas(N * sizeof(E)) Elements { E v[N]; };
template <int N, typename E> __device__ inline void LoadElements(const E* from, E* x) {
  const Elements<E, N> loaded = *reinterpret_cast<const Elements<E, N>*>(from);
#pragma unroll
  for (int i = 0; i < N; ++i) x[i] = loaded.v[i];
}
template <int N, typename E> __device__ inline void StoreElements(E* to, const E* x) {
  Elements<E, N> stored;
#pragma unroll
  for (int i = 0; i < N; ++i) stored.v[i] = x[i];
  *reinterpret_cast<Elements<E, N>*>(to) = stored;
}
template <int N, typename E> __device__ inline void CopyElements(E* to, const E* from) {
  *reinterpret_cast<Elements<E, N>*>(to) = *reinterpret_cast<const Elements<E, N>*>(from);
}
)";

}  // namespace

const char* StoredName(ElementType type) {
  static constexpr const char* kNames[] = {"T",     "long long", "int", "unsigned char",
                                           "float", "short"};
  return kNames[static_cast<int>(type)];
}

const char* HeldName(ElementType type) {
  return type == ElementType::kFloat ? "float" : StoredName(type);
}

const char* ValueName(ElementType type) {
  static constexpr const char* kNames[] = {"float", "long long", "int", "bool", "float", "short"};
  return kNames[static_cast<int>(type)];
}

const char* CastFunction(ElementType to) {
  return to == ElementType::kFloat ? "FromFloat" : "ToFloat";
}

std::string VectorFunction(const std::string& verb, ElementType type) {
  return verb + (type == ElementType::kFloat ? "Vector" : "Elements");
}

std::string ElementVectors(ElementType type) { return type == ElementType::kFloat ? "" : kVectors; }

// Integers wrap around, which only unsigned ones may in the language; of their sums, differences
// and products the low bits do not depend on the high ones. A float beyond the range of an integer
// is the end of that range, and NaN is 0, as optimizer/ops/cast.cc has it.
std::string ElementFunctions() {
  return std::string(kVectors) + R"(
template <typename I> __device__ inline I Sum(I a, I b) {
  return static_cast<I>(static_cast<unsigned long long>(a) + static_cast<unsigned long long>(b));
}
template <typename I> __device__ inline I Difference(I a, I b) {
  return static_cast<I>(static_cast<unsigned long long>(a) - static_cast<unsigned long long>(b));
}
template <typename I> __device__ inline I Product(I a, I b) {
  return static_cast<I>(static_cast<unsigned long long>(a) * static_cast<unsigned long long>(b));
}
template <typename I> __device__ inline I Larger(I a, I b) { return a > b ? a : b; }
template <typename I> __device__ inline I Smaller(I a, I b) { return a < b ? a : b; }
__device__ inline bool Not(bool x) { return !x; }
template <typename V> __device__ inline V Choose(bool condition, V a, V b) {
  return condition ? a : b;
}
template <typename V> __device__ inline bool CastToBool(V x) { return x != 0; }
template <typename V> __device__ inline float CastToFloat(V x) { return static_cast<float>(x); }
template <typename V> __device__ inline long long CastToInt64(V x) {
  return static_cast<long long>(x);
}
__device__ inline long long CastToInt64(float x) {
  if (x >= 9223372036854775808.0f) return 0x7fffffffffffffffLL;
  if (x < -9223372036854775808.0f) return -0x7fffffffffffffffLL - 1;
  return x == x ? static_cast<long long>(x) : 0;
}
template <typename V> __device__ inline int CastToInt32(V x) { return static_cast<int>(x); }
__device__ inline int CastToInt32(float x) {
  if (x >= 2147483648.0f) return 0x7fffffff;
  if (x < -2147483648.0f) return -0x7fffffff - 1;
  return x == x ? static_cast<int>(x) : 0;
}
)";
}

}  // namespace plait::cuda
