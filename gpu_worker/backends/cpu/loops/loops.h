#pragma once

#include <cstdint>

namespace plait {

// The inner loops of the cpu backend's own kernels over contiguous floats, built once per
// instruction set and chosen when the process starts to use them: nothing is built for the machine
// that compiles. Thread-safe. A result may lie where an operand lies, but not overlap it otherwise.

// y[i] = f(x[i]; alpha, beta)
enum class UnaryLoop : uint8_t {
#define PLAIT_UNARY_LOOP(name, expression) k##name,
#include "gpu_worker/backends/cpu/loops/loops.def"
#undef PLAIT_UNARY_LOOP
};

// y[i] = f(a[i], b[i])
enum class BinaryLoop : uint8_t {
#define PLAIT_BINARY_LOOP(name, expression) k##name,
#include "gpu_worker/backends/cpu/loops/loops.def"
#undef PLAIT_BINARY_LOOP
};

// y[i] = a[i] op b[i], as 0 or 1
enum class CompareLoop : uint8_t { kEqual, kGreater, kGreaterOrEqual, kLess, kLessOrEqual, kCount };

constexpr int kUnaryLoopCount = 0
#define PLAIT_UNARY_LOOP(name, expression) +1
#include "gpu_worker/backends/cpu/loops/loops.def"
#undef PLAIT_UNARY_LOOP
    ;
constexpr int kBinaryLoopCount = 0
#define PLAIT_BINARY_LOOP(name, expression) +1
#include "gpu_worker/backends/cpu/loops/loops.def"
#undef PLAIT_BINARY_LOOP
    ;

// One row of a softmax: y = softmax(x * scale + mask), or its logarithm.
struct SoftmaxRow {
  const float* x;
  const float* mask;  // nullptr: none
  float* y;
  int64_t size;
  float scale;
  bool logarithm;
};

// One row of a layer normalization; scale and bias may be nullptr.
struct NormalizationRow {
  const float* x;
  const float* scale;
  const float* bias;
  float* y;
  int64_t size;
  float epsilon;
};

// The loops of one instruction set. Nothing need be aligned.
struct LoopTable {
  using Unary = void (*)(const float* x, float* y, int64_t size, float alpha, float beta);
  using Binary = void (*)(const float* a, const float* b, float* y, int64_t size);
  using Compare = void (*)(const float* a, const float* b, int64_t* y, int64_t size);
  using Reduce = float (*)(const float* x, int64_t size);

  const char* instruction_set;      // "generic", "avx2", "avx512": part of a device's fingerprint
  Unary unary[kUnaryLoopCount];     // by UnaryLoop
  Binary binary[kBinaryLoopCount];  // by BinaryLoop
  Compare compare[static_cast<int>(CompareLoop::kCount)];
  // y = x * scale + shift, elementwise.
  void (*multiply_add)(const float* x, const float* scale, const float* shift, float* y,
                       int64_t size);
  // y = condition ? a : b
  void (*select)(const int64_t* condition, const float* a, const float* b, float* y, int64_t size);
  // Over all elements. The order of a sum is the instruction set's, so its last bits are too.
  Reduce sum;
  Reduce maximum;
  Reduce minimum;
  void (*softmax_row)(const SoftmaxRow& row);
  void (*normalization_row)(const NormalizationRow& row);
};

// The table for this processor.
const LoopTable& Loops();

// The table of each instruction set; only Loops() and tests call them.
const LoopTable& GenericLoops();
const LoopTable& Avx2Loops();
const LoopTable& Avx512Loops();

}  // namespace plait
