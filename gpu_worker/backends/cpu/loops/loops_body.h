// The loops, compiled once per instruction set: each including file names its table and is built
// with its own flags. Nothing here may call a function of another header: the linker would keep one
// copy, perhaps the one for the wrong processor.
#ifndef PLAIT_LOOP_TABLE
#error "define PLAIT_LOOP_TABLE, the name of the function that returns the table"
#endif

#include "gpu_worker/backends/cpu/loops/exponential_loops_body.h"
#include "gpu_worker/backends/cpu/loops/half_loops_body.h"
#include "gpu_worker/backends/cpu/loops/loops.h"

// How the functions are written, so that a compiler turns a loop over them into vector code:
//   - No calls: the math library's functions work on one float at a time, so that exp, log, erf
//     and tanh are polynomials here. Builtins are used where they are one instruction, or rare
//     (sin, cos, pow and their inverses are calls all the same).
//   - No branches: both sides are computed, and `condition ? a : b` selects, which is a blend.
//   - `omp simd` allows it without asking whether pointers overlap, and lets a sum be split.
//   - Special values are part of the contract: NaN stays NaN, infinities have their limits. The
//     flags that would give this up (-ffast-math) are not used.
// Each polynomial is written in Horner's form: one multiply-add per coefficient, highest first.
// Where an error is given, it is that of the fit in exact arithmetic; rounding comes on top of it.

namespace plait {
namespace {

constexpr float kInfinity = __builtin_inff();

// Either operand being NaN gives NaN, as in ONNX.
// std::max would drop a NaN in its second place. A comparison with a NaN is false, so that b is
// taken when b is one; `a != a` takes a when a is.
inline float Maximum(float a, float b) { return a > b || a != a ? a : b; }
inline float Minimum(float a, float b) { return a < b || a != a ? a : b; }
// Let a NaN through, which the comparison leaves where it is.
inline float AtLeast(float a, float bound) { return a < bound ? bound : a; }
inline float AtMost(float a, float bound) { return a > bound ? bound : a; }

// The nearest of 256 integers from `lowest` on. The comparison lets no NaN through, and the
// addition no negative zero.
inline float NearestOfByte(float x, float lowest) {
  return __builtin_rintf(AtMost(x > lowest ? x : lowest, lowest + 255.0f)) + 0.0f;
}

// exp by 2^n * exp(r), |r| <= ln(2)/2, with a polynomial of degree 6 (Chebyshev fit, error 7e-8 of
// the second-order remainder). Results below 2^-125 are 0.
//
// The steps: clamp, so that n stays small enough to be an exponent; n = round(x / ln 2); r = x - n
// ln 2, by Cody and Waite in two pieces, the first of so few bits that its product with n is exact;
// twice exp(r) = 1 + r + r^2 p(r); times 2^(n - 1), which is made from bits. At the clamped ends
// that is 0, or the product infinite. A NaN goes through r and stays. Loops that are made of little
// else have a faster one where vectors allow it (exponential_loops_body.h).
inline float Exponential(float x) {
  float t = x < -87.3f ? -87.3f : x;
  t = t > 88.8f ? 88.8f : t;
  // 1.5 * 2^23: adding it rounds to an integer, which then stands in the last bits.
  // Needs no rounding instruction, which the generic table lacks, and only works because additions
  // are not reassociated.
  const float rounded = t * 1.44269504f + 12582912.0f;
  const float n = rounded - 12582912.0f;
  // 0.693359375 has 9 bits and n at most 8, so that their product fits into the 24 bits of a float.
  const float r = (t - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 2 * 0.001392617612f;
  p = p * r + 2 * 0.008363173075f;
  p = p * r + 2 * 0.04166655466f;
  p = p * r + 2 * 0.1666657703f;
  p = p * r + 1.0f;
  p = p * r + 2.0f;
  p = p * r + 2.0f;
  // Half of 2^n, because 2^128 is no float. Unsigned, as bits of a NaN may be any.
  constexpr uint32_t kBitsOfZero = 0x4b400000;  // of 12582912.0f
  const uint32_t exponent = (__builtin_bit_cast(uint32_t, rounded) - kBitsOfZero + 126) << 23;
  return p * __builtin_bit_cast(float, exponent);
}

// Near 0 the difference would cancel: a Taylor polynomial there.
// For |x| < 1/4 the first term left out, x^7 / 5040, is below 5e-8 of x; from there on the
// difference loses about two bits.
inline float ExponentialMinusOne(float x) {
  float p = 1.0f / 720.0f;
  p = p * x + 1.0f / 120.0f;
  p = p * x + 1.0f / 24.0f;
  p = p * x + 1.0f / 6.0f;
  p = p * x + 0.5f;
  p = p * x * x + x;
  const float e = Exponential(x) - 1.0f;
  return __builtin_fabsf(x) < 0.25f ? p : e;
}

// x P(x^2) up to 1; beyond, 1 - exp(Q(|x|)), which is 1 from 4.05 on (Chebyshev fits, error 3e-8).
//
// A polynomial in x^2 keeps the function odd. For large x the logarithm of 1 - erf(x) is nearly a
// parabola, so that Q is short; at 4.05 the difference to 1 is below half a unit of the last bit.
inline float ErrorFunction(float x) {
  const float t = x * x;
  float p = -9.667044571e-6f;
  p = p * t + 0.0001126595903f;
  p = p * t - 0.0008484080406f;
  p = p * t + 0.005221031808f;
  p = p * t - 0.02686543073f;
  p = p * t + 0.112837825f;
  p = p * t - 0.3761263847f;
  p = p * t + 1.128379167f;
  const float a = __builtin_fabsf(x);
  const float b = a > 4.05f ? 4.05f : a;
  float q = 1.614896338e-6f;
  q = q * b - 4.5630891e-5f;
  q = q * b + 0.0005933143282f;
  q = q * b - 0.004743754147f;
  q = q * b + 0.02637756438f;
  q = q * b - 0.1100058213f;
  q = q * b - 0.6319025502f;
  q = q * b - 1.130189921f;
  q = q * b + 0.0003096755744f;
  const float large = __builtin_copysignf(1.0f - Exponential(q), x);
  return a < 1.0f || x != x ? x * p : large;
}

// x + x^3 P(x^2) up to 0.625 (Chebyshev fit, error 1.2e-6 of x^3); beyond, by the exponential.
//
// tanh(x) = 1 - 2 / (exp(2x) + 1) would cancel near 0. The exponential may become infinite, and the
// quotient is then 0, as it should be.
inline float HyperbolicTangent(float x) {
  const float t = x * x;
  float p = 0.01621225574f;
  p = p * t - 0.05267516351f;
  p = p * t + 0.1332349416f;
  p = p * t - 0.3333321382f;
  p = p * t * x + x;
  const float a = __builtin_fabsf(x);
  const float large = __builtin_copysignf(1.0f - 2.0f / (Exponential(2.0f * a) + 1.0f), x);
  return a < 0.625f || x != x ? p : large;
}

// sqrt(2 / pi) * (x + 0.044715 x^3)
inline float GeluTanhArgument(float x) { return x * (0.7978845608f + 0.0356774081f * x * x); }

// tanh(log(1 + e)) by the definition of tanh: ((1 + e)^2 - 1) / ((1 + e)^2 + 1), where the square's
// 1 is taken out so that a small e keeps its digits. From exp(20) on it is 1.
inline float MishGate(float e) {
  const float n = e * (e + 2.0f);
  return n / (n + 2.0f);
}

// log(2^n (1 + f)) with 1 + f between the square roots of 1/2 and 2 (Chebyshev fit, error 3e-8 of
// f^3).
//
// The exponent n and the mantissa are taken from the bits. With f around 0, log(1 + f) = f - f^2/2
// + f^3 P(f); centring at the square roots keeps |f| below 0.42. n ln 2 is added in two pieces as
// in Exponential(), the small one first, so that nothing is lost beside the large one.
//
// A denormal is made a normal number first: its bits have no exponent.
inline float Logarithm(float x) {
  const bool is_normal = x >= 1.17549435e-38f;
  const int32_t bits = __builtin_bit_cast(int32_t, is_normal ? x : x * 0x1p23f);
  int32_t n = (bits >> 23) - (is_normal ? 127 : 150);
  float m = __builtin_bit_cast(float, (bits & 0x007fffff) | 0x3f800000);
  const bool above = m > 1.41421356f;
  n = above ? n + 1 : n;
  m = above ? m * 0.5f : m;
  const float f = m - 1.0f;
  float p = 0.06971611471f;
  p = p * f - 0.1147973385f;
  p = p * f + 0.1168541992f;
  p = p * f - 0.1242568733f;
  p = p * f + 0.1424905765f;
  p = p * f - 0.1666780232f;
  p = p * f + 0.2000071575f;
  p = p * f - 0.2499999696f;
  p = p * f + 0.3333333118f;
  const float e = static_cast<float>(n);
  float y = f * f * f * p - 0.5f * f * f + e * -2.12194440e-4f;
  y = (y + f) + e * 0.693359375f;
  // The bits of infinity look like a number's; zero, negative numbers and NaN are put right below.
  y = x == kInfinity ? kInfinity : y;
  y = x == 0 ? -kInfinity : y;
  return x < 0 || x != x ? __builtin_nanf("") : y;
}

// One function per line of loops.def. Each reads an element before it writes its place, so that the
// result may lie where an operand lies.
#define PLAIT_UNARY_LOOP(name, expression)                                                \
  void name##Loop(const float* xs, float* ys, int64_t size, [[maybe_unused]] float alpha, \
                  [[maybe_unused]] float beta) {                                          \
    _Pragma("omp simd") for (int64_t i = 0; i < size; ++i) {                              \
      const float x = xs[i];                                                              \
      ys[i] = expression;                                                                 \
    }                                                                                     \
  }
#define PLAIT_BINARY_LOOP(name, expression)                                    \
  void name##Loop(const float* as, const float* bs, float* ys, int64_t size) { \
    _Pragma("omp simd") for (int64_t i = 0; i < size; ++i) {                   \
      const float a = as[i];                                                   \
      const float b = bs[i];                                                   \
      ys[i] = expression;                                                      \
    }                                                                          \
  }
#include "gpu_worker/backends/cpu/loops/loops.def"
#undef PLAIT_UNARY_LOOP
#undef PLAIT_BINARY_LOOP

// The result is int64_t, the type of Select()'s condition: twice as wide as the operands.
#define PLAIT_COMPARE_LOOP(name, operation)                                      \
  void name##Loop(const float* as, const float* bs, int64_t* ys, int64_t size) { \
    _Pragma("omp simd") for (int64_t i = 0; i < size; ++i) {                     \
      ys[i] = as[i] operation bs[i] ? 1 : 0;                                     \
    }                                                                            \
  }
// Not lines of loops.def: their result has another type.
PLAIT_COMPARE_LOOP(Equal, ==)
PLAIT_COMPARE_LOOP(Greater, >)
PLAIT_COMPARE_LOOP(GreaterOrEqual, >=)
PLAIT_COMPARE_LOOP(Less, <)
PLAIT_COMPARE_LOOP(LessOrEqual, <=)
#undef PLAIT_COMPARE_LOOP

// All operands are arrays: a scale that broadcasts is spread by the caller.
void MultiplyAdd(const float* x, const float* scale, const float* shift, float* y, int64_t size) {
#pragma omp simd
  for (int64_t i = 0; i < size; ++i) y[i] = x[i] * scale[i] + shift[i];
}

void Select(const int64_t* condition, const float* a, const float* b, float* y, int64_t size) {
#pragma omp simd
  for (int64_t i = 0; i < size; ++i) y[i] = condition[i] != 0 ? a[i] : b[i];
}

// One partial sum per lane, added at the end: another order than one after the other, usually with
// a smaller rounding error.
float Sum(const float* x, int64_t size) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < size; ++i) sum += x[i];
  return sum;
}

// The vectorized reduction loses NaNs (they compare false), so they are counted beside it.
float MaximumOf(const float* x, int64_t size) {
  float best = -kInfinity;
  int32_t nans = 0;
#pragma omp simd reduction(max : best) reduction(+ : nans)
  for (int64_t i = 0; i < size; ++i) {
    best = x[i] > best ? x[i] : best;
    nans += x[i] != x[i] ? 1 : 0;
  }
  return nans > 0 ? __builtin_nanf("") : best;
}

float MinimumOf(const float* x, int64_t size) {
  float best = kInfinity;
  int32_t nans = 0;
#pragma omp simd reduction(min : best) reduction(+ : nans)
  for (int64_t i = 0; i < size; ++i) {
    best = x[i] < best ? x[i] : best;
    nans += x[i] != x[i] ? 1 : 0;
  }
  return nans > 0 ? __builtin_nanf("") : best;
}

// 12 chains: two units of five cycles each need 10 to be always busy, and there are 16 registers.
constexpr int kChains = 12;
constexpr int64_t kMultiplyAddsPerStep = int64_t{kChains} * kVectorFloats;

// x / 2 + 1 again and again: all elements go to 2, so that none overflows or becomes denormal. None
// begins there, which a compiler would see.
// The array is indexed by constants once the inner loops are unrolled, and stays in registers.
float ChainMultiplyAdds(int64_t steps) {
  typedef float Vector __attribute__((vector_size(kVectorFloats * sizeof(float))));
  Vector chains[kChains];
  for (int i = 0; i < kChains; ++i) chains[i] = Vector{} + (static_cast<float>(i) + 0.5f);
  for (int64_t step = 0; step < steps; ++step) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) chains[i] = chains[i] * 0.5f + 1.0f;
  }
  Vector sum = {};
  for (int i = 0; i < kChains; ++i) sum += chains[i];
  return sum[0];
}

}  // namespace
}  // namespace plait

#include "gpu_worker/backends/cpu/loops/bf16_loops_body.h"
#include "gpu_worker/backends/cpu/loops/conversion_loops_body.h"
#include "gpu_worker/backends/cpu/loops/digit_loops_body.h"
#include "gpu_worker/backends/cpu/loops/row_loops_body.h"
#include "gpu_worker/backends/cpu/loops/strassen_loops_body.h"
#include "gpu_worker/backends/cpu/loops/window_loops_body.h"
// Behind window_loops_body.h, whose vectors it uses.
#include "gpu_worker/backends/cpu/loops/depthwise_loops_body.h"
#include "gpu_worker/backends/cpu/loops/few_rows_loops_body.h"
#include "gpu_worker/backends/cpu/loops/integer_loops_body.h"
#include "gpu_worker/backends/cpu/loops/window_loops_grouped_body.h"
#include "gpu_worker/backends/cpu/loops/winograd_loops_body.h"

namespace plait {

// Constant-initialized: the table is there before any other static object asks for it.
const LoopTable& PLAIT_LOOP_TABLE() {
  static constexpr LoopTable kTable = {
      .instruction_set = PLAIT_LOOP_INSTRUCTION_SET,
      .unary =
          {
#define PLAIT_UNARY_LOOP(name, expression) name##Loop,
#include "gpu_worker/backends/cpu/loops/loops.def"
#undef PLAIT_UNARY_LOOP
          },
      .binary =
          {
#define PLAIT_BINARY_LOOP(name, expression) name##Loop,
#include "gpu_worker/backends/cpu/loops/loops.def"
#undef PLAIT_BINARY_LOOP
          },
      .compare = {EqualLoop, GreaterLoop, GreaterOrEqualLoop, LessLoop, LessOrEqualLoop},
      .multiply_add = MultiplyAdd,
      .select = Select,
      .sum = Sum,
      .maximum = MaximumOf,
      .minimum = MinimumOf,
      .sum_of_squares = SumOfSquares,
      .sum_of_exponentials = SumOfExponentials,
      .chain_multiply_adds = ChainMultiplyAdds,
      .multiply_adds_per_step = kMultiplyAddsPerStep,
      .softmax_row = Softmax,
      .softmax_part = SoftmaxOfPart,
      .normalization_row = Normalization,
      .root_mean_square_row = RootMeanSquare,
      .turn_pairs = TurnPairs,
      .best_columns = {{BestColumns<false, false>, BestColumns<false, true>},
                       {BestColumns<true, false>, BestColumns<true, true>}},
      .split_rows = SplitRows,
      .digit_scale = DigitScale,
      .magnitudes = MagnitudesOf,
      .usual_magnitudes = UsualMagnitudesOf,
      .add_number = AddNumber,
      .join_sums = JoinSums,
      .depthwise_pixels = DepthwisePixelsLoop,
      .depthwise_row = DepthwiseRowLoop,
      .grouped_pixels = GroupedPixelsLoop,
      .vector_floats = kVectorFloats,
      .largest_pixels = LargestPixelsLoop,
      .mean_pixels = MeanPixelsLoop,
      .largest_row = LargestRowLoop,
      .mean_row = MeanRowLoop,
      .resampled_pixels = ResampledPixelsLoop,
      .winograd_pixels = {WinogradPixelsLoop<2>, WinogradPixelsLoop<4>},
      .winograd_sums = {WinogradSumsLoop<2>, WinogradSumsLoop<4>},
      .halves = kHalfLoops,
      .integers = kIntegerLoops,
      .bf16 = kBf16Loops,
      .conversions = kConversionLoops,
      .strassen_pair = StrassenPairLoop,
      .strassen_sums = StrassenSumsLoop,
      .rows_by_row_major = RowsByRowMajor,
      .rows_by_transposed = RowsByTransposed,
  };
  return kTable;
}

}  // namespace plait
