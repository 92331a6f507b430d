#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gpu_worker/backends/cuda/problem/problem.h"
#include "gpu_worker/backends/cuda/problem/problem_shape.h"

namespace plait::cuda {

// The operands of one problem in host memory, in the order of their place in memory. Floats hold
// what the device's storage type holds exactly: they are rounded to it already.
// So an error against the reference is the kernel's own, not that of its inputs. What a cast reads
// in fp32 is not rounded. Integers are small and bools 0 or 1, as floats. An operand that
// the problem lacks is empty. About 4 bytes per element, whatever the precision.
struct HostOperands {
  std::vector<std::vector<float>> inputs;  // a gather's second input is empty: see indices
  std::vector<int64_t> indices;
  std::vector<float> weights;
  std::vector<float> packed_weights;  // see packed_weights.h
  std::vector<float> second_weights;
  std::vector<float> bias;
  std::vector<float> second_bias;
  std::vector<float> residual;
};

// Seeded numbers with mean 0 and deviation 1, weights scaled by their fan-in; inputs between 0.5
// and 2 where an expression has no value below zero. Equal on every machine.
// Zeros would be the wrong test data: they hide errors, and multiplying them takes less power,
// which makes times look better than they are. Uses several cores for large operands.
// REQUIRES: `shape` is ShapeOf(problem).
// Errors: none.
HostOperands MakeHostOperands(const Problem& problem, const ProblemShape& shape,
                              Precision precision, uint64_t seed);

// `value` rounded to the precision's storage type.
// To the nearest, ties to even; kStrict and kTf32 store floats and change nothing. Beyond the range
// of fp16 the result is infinite.
float RoundToStorage(float value, Precision precision);

// Values as the device stores them, and back. REQUIRES: `bytes` has ElementBytes() per value.
std::vector<std::byte> ToStorage(const std::vector<float>& values, Precision precision);
// Little-endian, as the device has it.
std::vector<float> FromStorage(const std::byte* bytes, size_t count, Precision precision);

// The same for elements of any type. A byte that is no bool comes back as its number.
std::vector<std::byte> ToStorage(const std::vector<float>& values, ElementType type,
                                 Precision precision);
std::vector<float> FromStorage(const std::byte* bytes, size_t count, ElementType type,
                               Precision precision);

}  // namespace plait::cuda
