// Is no header of the project: it is the head of the text that the emulation compiles, in place of
// the device's intrinsics. One fiber per thread of a block, blocks one after another, all on one
// thread of the host.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include <ucontext.h>

#define PLAIT_KERNEL void
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(threads)
// Blocks run one after another, so that a block's shared memory may be static.
#define __shared__ static

namespace emulation {

struct Index {
  unsigned x = 0, y = 0, z = 0;
};

enum class State { kReady, kAtBlockBarrier, kAtWarpBarrier, kDone };

struct Fiber {
  ucontext_t context;
  std::vector<char> stack;
  State state = State::kDone;
  Index thread;
  unsigned exchange = 0;  // what a shuffle hands to the other lanes
  float left[4] = {};     // what a product of the warp does
  float right[2] = {};
};

constexpr size_t kStackBytes = 128 * 1024;

inline std::vector<Fiber> fibers;
inline size_t current = 0;
inline ucontext_t scheduler;
inline void (*body)(void* const*) = nullptr;
inline void* const* body_arguments = nullptr;

inline void Enter() {
  body(body_arguments);
  fibers[current].state = State::kDone;
  swapcontext(&fibers[current].context, &scheduler);
}

inline void WaitAt(State barrier) {
  fibers[current].state = barrier;
  swapcontext(&fibers[current].context, &scheduler);
}

}  // namespace emulation

inline emulation::Index threadIdx, blockIdx, blockDim, gridDim;

// Kernels run one after another.
inline void AwaitEarlierKernels() {}

namespace emulation {

inline void StartFiber(Fiber& fiber, unsigned number) {
  fiber.stack.resize(kStackBytes);
  fiber.thread = {number % blockDim.x, number / blockDim.x % blockDim.y,
                  number / blockDim.x / blockDim.y};
  getcontext(&fiber.context);
  fiber.context.uc_stack.ss_sp = fiber.stack.data();
  fiber.context.uc_stack.ss_size = kStackBytes;
  fiber.context.uc_link = nullptr;
  fiber.state = State::kReady;
  makecontext(&fiber.context, Enter, 0);
}

inline size_t Count(size_t begin, size_t end, State state) {
  size_t count = 0;
  for (size_t i = begin; i < end; ++i) count += fibers[i].state == state;
  return count;
}

// Lets the threads of [begin, end) go on if all of them wait at the barrier.
inline bool Release(size_t begin, size_t end, State barrier) {
  if (Count(begin, end, barrier) != end - begin) return false;
  for (size_t i = begin; i < end; ++i) fibers[i].state = State::kReady;
  return true;
}

// Returns whether every thread came to its end; false when a barrier was not reached by all.
inline bool RunBlock() {
  for (size_t i = 0; i < fibers.size(); ++i) StartFiber(fibers[i], static_cast<unsigned>(i));
  while (true) {
    for (current = 0; current < fibers.size(); ++current) {
      if (fibers[current].state != State::kReady) continue;
      threadIdx = fibers[current].thread;
      swapcontext(&scheduler, &fibers[current].context);
    }
    if (Count(0, fibers.size(), State::kDone) == fibers.size()) return true;
    bool released = Release(0, fibers.size(), State::kAtBlockBarrier);
    for (size_t warp = 0; warp < fibers.size(); warp += 32) {
      const size_t end = warp + 32 < fibers.size() ? warp + 32 : fibers.size();
      released |= Release(warp, end, State::kAtWarpBarrier);
    }
    if (!released) return false;
  }
}

inline bool Run(const unsigned* grid, const unsigned* block, void (*kernel)(void* const*),
                void* const* arguments) {
  gridDim = {grid[0], grid[1], grid[2]};
  blockDim = {block[0], block[1], block[2]};
  body = kernel;
  body_arguments = arguments;
  fibers.resize(static_cast<size_t>(block[0]) * block[1] * block[2]);
  for (blockIdx.z = 0; blockIdx.z < grid[2]; ++blockIdx.z) {
    for (blockIdx.y = 0; blockIdx.y < grid[1]; ++blockIdx.y) {
      for (blockIdx.x = 0; blockIdx.x < grid[0]; ++blockIdx.x) {
        if (!RunBlock()) return false;
      }
    }
  }
  return true;
}

// A pointer is the argument itself; of what a kernel takes by value it is the place.
template <typename Parameter>
Parameter ArgumentOf(void* given) {
  if constexpr (std::is_pointer_v<Parameter>) {
    return static_cast<Parameter>(given);
  } else {
    return *static_cast<const Parameter*>(given);
  }
}

// Calls a kernel of any signature with its arguments.
template <typename... Parameter, size_t... kPlace>
void Call(void (*kernel)(Parameter...), void* const* arguments, std::index_sequence<kPlace...>) {
  kernel(ArgumentOf<Parameter>(arguments[kPlace])...);
}
template <typename... Parameter>
void Call(void (*kernel)(Parameter...), void* const* arguments) {
  Call(kernel, arguments, std::index_sequence_for<Parameter...>());
}

}  // namespace emulation

inline void __syncthreads() { emulation::WaitAt(emulation::State::kAtBlockBarrier); }
inline void __syncwarp() { emulation::WaitAt(emulation::State::kAtWarpBarrier); }

inline float __shfl_xor_sync(unsigned, float value, int lanes) {
  emulation::Fiber& self = emulation::fibers[emulation::current];
  self.exchange = std::bit_cast<unsigned>(value);
  emulation::WaitAt(emulation::State::kAtWarpBarrier);
  const size_t other = emulation::current ^ static_cast<size_t>(lanes);
  const float result = std::bit_cast<float>(emulation::fibers[other].exchange);
  emulation::WaitAt(emulation::State::kAtWarpBarrier);
  return result;
}

inline float __uint_as_float(unsigned bits) { return std::bit_cast<float>(bits); }

// To nearest, ties away from zero.
inline float ToTf32(float x) {
  if (!std::isfinite(x)) return x;
  return std::bit_cast<float>((std::bit_cast<unsigned>(x) + 0x1000u) & 0xffffe000u);
}

inline void MultiplyTf32(float (&sum)[4], const float (&left)[4], const float (&right)[2]) {
  emulation::Fiber& self = emulation::fibers[emulation::current];
  std::memcpy(self.left, left, sizeof(left));
  std::memcpy(self.right, right, sizeof(right));
  emulation::WaitAt(emulation::State::kAtWarpBarrier);
  const size_t lane = emulation::current % 32, warp = emulation::current - lane;
  for (size_t i = 0; i < 4; ++i) {
    const size_t row = i / 2, column = lane % 4 * 2 + i % 2;
    double total = sum[i];
    for (size_t k = 0; k < 8; ++k) {
      const auto& of_row = emulation::fibers[warp + lane / 4 * 4 + k % 4].left;
      const auto& of_column = emulation::fibers[warp + column * 4 + k % 4].right;
      total += static_cast<double>(of_row[row + k / 4 * 2]) * of_column[k / 4];
    }
    sum[i] = static_cast<float>(total);
  }
  emulation::WaitAt(emulation::State::kAtWarpBarrier);
}

inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }

inline float BfloatToFloat(unsigned short bits) {
  return std::bit_cast<float>(static_cast<unsigned>(bits) << 16);
}
inline unsigned short FloatToBfloat(float x) {
  const unsigned bits = std::bit_cast<unsigned>(x);
  if (std::isnan(x)) return 0x7fff;
  return static_cast<unsigned short>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}
inline float HalfToFloat(unsigned short bits) {
  const int exponent = (bits >> 10) & 0x1f, mantissa = bits & 0x3ff;
  float value = std::ldexp(static_cast<float>(mantissa + (exponent != 0 ? 1024 : 0)),
                           (exponent != 0 ? exponent : 1) - 25);
  if (exponent == 31) value = mantissa != 0 ? NAN : INFINITY;
  return (bits & 0x8000) != 0 ? -value : value;
}
inline unsigned short FloatToHalf(float x) {
  const unsigned short sign = std::signbit(x) ? 0x8000 : 0;
  if (std::isnan(x)) return 0x7fff;
  const float magnitude = std::fabs(x);
  if (magnitude == 0.0f) return sign;
  if (magnitude >= 65520.0f) return static_cast<unsigned short>(sign | 0x7c00);
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  const int scale = exponent < -13 ? -24 : exponent - 11;  // of the last bit
  const float rounded = std::nearbyint(std::ldexp(magnitude, -scale));
  if (scale == -24) return static_cast<unsigned short>(sign | static_cast<unsigned>(rounded));
  return static_cast<unsigned short>(sign + ((exponent + 13) << 10) +
                                     static_cast<unsigned>(rounded));
}
