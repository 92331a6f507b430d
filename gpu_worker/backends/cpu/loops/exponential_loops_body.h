// Part of loops_body.h, and its first: vectors, and the exponential of a whole vector where the
// processor looks numbers up in a register.

#include "gpu_worker/backends/cpu/loops/loops.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace plait {
namespace {

#if defined(__AVX512F__)
constexpr int kVectorFloats = 16;
#elif defined(__AVX2__)
constexpr int kVectorFloats = 8;
#else
constexpr int kVectorFloats = 4;
#endif

// Anywhere in memory: no alignment is asked for.
typedef float LooseVector
    __attribute__((vector_size(kVectorFloats * sizeof(float)), aligned(4), may_alias));
inline LooseVector LoadVector(const float* x) { return *reinterpret_cast<const LooseVector*>(x); }
inline void StoreVector(float* y, LooseVector value) { *reinterpret_cast<LooseVector*>(y) = value; }

#if defined(__AVX2__)

typedef float Vector __attribute__((vector_size(kVectorFloats * sizeof(float))));

// exp(x) by 2^n * exp(r) with n a multiple of 1 / kVectorFloats: its whole part is an exponent, and
// the power of what is left one of as many roots of 2, which stand in a register. |r| is so small
// that exp(r) is a polynomial of degree 3, where one without roots takes 6. (P. Tang, Table-Driven
// Implementation of the Exponential Function, ACM TOMS 15, 1989.)
//
// The names below are those of Exponential(), and so are the steps. Clamping takes the bound where
// a number is beyond it, and a NaN as it is: the instructions give their second operand then.
#if defined(__AVX512F__)

constexpr float kExponentRounder = 786432.0f;  // 1.5 * 2^19: adding it rounds to a sixteenth
// 1/2 and what makes up for the term of degree 4: the error is then 2e-9, up to r = ln(2) / 32.
constexpr float kExponentSecond = 0.5000162f;

// Results are as small as floats can be, and then 0.
inline Vector WithinExponents(Vector x) {
  return _mm512_min_ps(_mm512_set1_ps(89.0f), _mm512_max_ps(_mm512_set1_ps(-104.0f), x));
}

// Of 2 to the fraction of n, which stands in the last four bits of what rounding gave.
inline Vector RootOf(Vector rounded) {
  const Vector roots = {1.0f,          1.0442737824f, 1.0905077327f, 1.1387886347f,
                        1.189207115f,  1.2418578121f, 1.2968395547f, 1.354255547f,
                        1.4142135624f, 1.4768261459f, 1.5422108254f, 1.6104903319f,
                        1.6817928305f, 1.7562521604f, 1.8340080864f, 1.9152065614f};
  return _mm512_permutexvar_ps(reinterpret_cast<__m512i>(rounded), roots);
}

inline Vector TimesPower(Vector x, Vector /*rounded*/, Vector n) {
  return _mm512_scalef_ps(x, n);  // takes the whole part
}

#else

constexpr float kExponentRounder = 1572864.0f;  // 1.5 * 2^20: adding it rounds to an eighth
constexpr float kExponentSecond = 0.50006478f;  // the error is 3e-8, up to r = ln(2) / 16

// Results below 2^-125 are 0.
inline Vector WithinExponents(Vector x) {
  return _mm256_min_ps(_mm256_set1_ps(88.8f), _mm256_max_ps(_mm256_set1_ps(-87.3f), x));
}

// Twice the root, as 2^128 is no float.
inline Vector RootOf(Vector rounded) {
  const Vector roots = {2.0f,          2.1810154653f, 2.37841423f,  2.5936791093f,
                        2.8284271247f, 3.0844216508f, 3.363585661f, 3.6680161728f};
  return _mm256_permutevar8x32_ps(roots, reinterpret_cast<__m256i>(rounded));
}

// Half of 2^n is made from bits; at the clamped ends it is 0, or the product infinite.
inline Vector TimesPower(Vector x, Vector rounded, Vector /*n*/) {
  constexpr int32_t kBitsOfZero = 0x49c00000;  // of kExponentRounder
  const __m256i eighths =
      _mm256_sub_epi32(reinterpret_cast<__m256i>(rounded), _mm256_set1_epi32(kBitsOfZero));
  const __m256i exponent = _mm256_add_epi32(_mm256_srai_epi32(eighths, 3), _mm256_set1_epi32(126));
  return x * reinterpret_cast<Vector>(_mm256_slli_epi32(exponent, 23));
}

#endif

inline Vector Exponential(Vector x) {
  const Vector t = WithinExponents(x);
  const Vector rounded = t * 1.44269504f + kExponentRounder;
  const Vector n = rounded - kExponentRounder;
  const Vector r = (t - n * 0.693359375f) + n * 2.12194440e-4f;
  const Vector p = ((r * (1.0f / 6.0f) + kExponentSecond) * r + 1.0f) * r;
  const Vector root = RootOf(rounded);
  return TimesPower(root + root * p, rounded, n);
}

// y[i] = f(x[i]) by whole vectors; behind the last one stand zeros.
template <typename Function>
inline void ForEachVector(const float* x, float* y, int64_t size, const Function& f) {
  int64_t i = 0;
  for (; i + kVectorFloats <= size; i += kVectorFloats) StoreVector(y + i, f(LoadVector(x + i)));
  if (i == size) return;
  float rest[kVectorFloats] = {};
  for (int64_t j = i; j < size; ++j) rest[j - i] = x[j];
  StoreVector(rest, f(LoadVector(rest)));
  for (int64_t j = i; j < size; ++j) y[j] = rest[j - i];
}

// A line of loops.def whose expression is one of vectors, too.
#define PLAIT_EXPONENTIAL_LOOP(name, expression)                                          \
  void name##Loop(const float* xs, float* ys, int64_t size, [[maybe_unused]] float alpha, \
                  float /*beta*/) {                                                       \
    ForEachVector(xs, ys, size, [=](Vector x) { return expression; });                    \
  }

#endif

}  // namespace
}  // namespace plait
