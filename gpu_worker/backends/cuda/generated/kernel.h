#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "gpu_worker/backends/cuda/problem/pixel_pitch.h"
#include "gpu_worker/backends/cuda/problem/problem.h"

// Kernels of our own, written as text for each problem and compiled at run time, for what libraries
// have no fast kernel for. Each family is a file: elementwise, rows (softmax, norms,
// reductions), strided_rows, transpose, movement (concat, slice, pad, copy), gather, pool,
// convolution, depthwise, separable, scale_shift, recurrence, resize, recurrent_layer, attention.
// kernel.h has what they share, elements.h what those of integers and bools do, source.cc lists
// them as candidates. Most only move memory, so they are built for it: neighbouring threads touch
// neighbouring addresses, in vectors of up to 16 bytes, and as a rule each element is read once and
// written once. fp16 and bf16 are converted when they are loaded and stored; all arithmetic is
// fp32, but for the products of attention in TF32.

namespace plait::cuda {

// What a generated kernel takes: an operand of a problem, as a pointer, or one of the last three.
// Scales and shifts are kWeights and kBias, as in ProblemShape. kErrorWord: Operands::error_word.
// kPackedWeights: Operands::packed_weights. kWorkspace: floats of the kernel's own, undefined at
// its first launch. kStep: an int, the launch's number, from 0 on.
struct KernelArgument {
  enum class Kind {
    kInput,
    kWeights,
    kPackedWeights,
    kSecondWeights,
    kBias,
    kSecondBias,
    kResidual,
    kOutput,
    kErrorWord,
    kWorkspace,
    kStep
  };
  Kind kind = Kind::kInput;
  int index = 0;  // of the input or output
  ElementType type = ElementType::kFloat;
};

// A kernel in the kernel language: CUDA C++ without includes, that reads its shape from constants
// in its own text, so that the compiler sees every size. The same text is compiled by NVRTC for
// the device and by the host compiler for the emulation.
// No line of it depends on a size at run time, so loops unroll and divisions by sizes become
// multiplications. The price is one compilation per problem.
struct GeneratedKernel {
  std::string variant;  // such as "warp/v4": unique within family and problem
  std::string source;   // defines plait_kernel; has to follow KernelPrelude()
  // Blocks, and threads per block; no dynamic shared memory.
  std::array<unsigned, 3> grid = {1, 1, 1};
  std::array<unsigned, 3> block = {1, 1, 1};
  std::vector<KernelArgument> arguments;
  // How often it is launched, one launch behind the other.
  int launches = 1;
  size_t workspace_bytes = 0;
  // Whether it is worth compiling as a candidate. All of a family's kernels are right, and tests
  // run all of them; those that are not listed gained next to nothing on an H200 (see
  // bench/gpu/recorded.py), or rank behind others by what a described device would do.
  bool is_listed = true;
};

// As many threads as leave no multiprocessor of a large device waiting: with fewer of them more
// threads are worth more than longer vectors or larger tiles.
inline constexpr int64_t kThreadsToFill = 65536;

// Threads of a block, in most families; kThreads in the kernels' text.
inline constexpr int kBlockThreads = 256;

// What guesses at the best kernel rely on: multiprocessors, and what each of them has for blocks.
// An H200's where nothing else is said.
struct KernelDevice {
  int64_t multiprocessors = 132;
  int64_t shared_bytes = 227 << 10;
  int64_t registers = 65536;
  int64_t threads = 2048;
};

// Of a device of this compute capability, by the table "Technical Specifications per Compute
// Capability" of the CUDA C++ Programming Guide 13.0. Pure.
KernelDevice KernelDeviceOf(int sm_major, int sm_minor, int multiprocessors);

// In which form kernels are wanted: `alignment_bytes` is that of every operand, at least. Pitches
// are of images in channels-last.
struct KernelForm {
  Precision precision = Precision::kStrict;
  MemoryLayout layout = MemoryLayout::kNchw;
  int64_t alignment_bytes = 16;
  OperandPitches pitches = {};
  KernelDevice device = {};
};

// One family of generated kernels. Constants, one line each in kernels.def.
// Variants differ in vector width and in work per thread: which is best depends on the size and on
// what else runs, and is left to measuring. Pure and thread-safe.
struct GeneratedFamily {
  const char* name;
  // The kernels for a problem, best guess first; none for a problem of another family.
  // REQUIRES: ShapeOf() accepts the problem.
  std::vector<GeneratedKernel> (*list)(const Problem& problem, const KernelForm& form);
  bool takes_pitches = false;   // other families are asked for dense operands only
  bool rounds_to_tf32 = false;  // has kernels for kTf32, which others are not asked for

  // The same for operands that are aligned for the widest vectors.
  std::vector<GeneratedKernel> generate(const Problem& problem, Precision precision,
                                        MemoryLayout layout) const {
    return list(problem, {precision, layout});
  }
};

// Every family, in the order of kernels.def.
std::vector<const GeneratedFamily*> GeneratedFamilies();

// What every kernel's text calls its kernel.
inline constexpr const char* kKernelEntry = "plait_kernel";

// What each kernel's source builds on: the storage type T of the precision, conversions, vectors,
// activations and warp reductions. The intrinsics are the device's half, which the emulation
// replaces by its own.
std::string KernelIntrinsics();
std::string KernelPrelude(Precision precision);

// What NVRTC is given: several kernels take less than half of the time that they take one by one.
// What two have in common is there once, and so is a kernel that is listed twice.
std::string DeviceSource(const std::vector<const GeneratedKernel*>& kernels, Precision precision);

// By which the compiled kernel is found, whatever others there are: made of its text.
std::string EntryOf(const GeneratedKernel& kernel, Precision precision);

// "constexpr int <name> = <value>;" lines.
std::string Constants(std::initializer_list<std::pair<const char*, int64_t>> constants);

// Those of a convolution's images, window and output, and of how they lie.
std::string WindowConstants(const ConvProblem& conv, const KernelForm& form);

// Replaces every "$name$" in `text`.
// Names are replaced one after another, in the order given.
std::string Replace(std::string text,
                    std::initializer_list<std::pair<const char*, std::string>> values);

// The largest power of two that divides all of `sizes` and pitches and makes at most as many bytes
// of elements as the form is aligned to, and at most 16. 16 bytes are the widest load and store of
// one thread up to compute capability 9.0. Dividing every size, it keeps each vector inside of its
// row and aligned. 1 at least. REQUIRES: sizes are not negative. `type`: of the elements, the
// longest where there are several.
int VectorWidth(const KernelForm& form, std::initializer_list<int64_t> sizes,
                ElementType type = ElementType::kFloat);

// From pixel to pixel of an image in channels-last.
inline int64_t PitchOr(const PixelPitch& pitch, int64_t channels) {
  return pitch.is_dense() ? channels : pitch.pitch;
}

// The dimensions of a tensor in the order in which they lie in memory.
std::vector<int64_t> InMemoryOrder(const std::vector<int64_t>& shape, MemoryLayout layout);

// The arguments as declarations of the kernel language.
std::string Parameters(const std::vector<KernelArgument>& arguments);

// REQUIRES: a >= 0, b > 0.
inline int64_t CeilDivide(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace plait::cuda
