#include "gpu_worker/backends/cuda/generated/kernel.h"

#include <algorithm>
#include <cstdio>
#include <set>

#include "gpu_worker/backends/cuda/generated/elements.h"
#include "gpu_worker/backends/cuda/problem/problem_shape.h"

namespace plait::cuda {

#define PLAIT_GENERATED_FAMILY(name, constant) extern const GeneratedFamily constant;
#include "gpu_worker/backends/cuda/generated/kernels.def"
#undef PLAIT_GENERATED_FAMILY

std::vector<const GeneratedFamily*> GeneratedFamilies() {
  return {
#define PLAIT_GENERATED_FAMILY(name, constant) &constant,
#include "gpu_worker/backends/cuda/generated/kernels.def"
#undef PLAIT_GENERATED_FAMILY
  };
}

// Conversions in PTX: a kernel needs no header of the toolkit, which a machine that runs plans may
// not have. Every kernel begins with AwaitEarlierKernels(): where a graph lets it begin while the
// one before it still runs, its blocks are in place when that ends, and it lets its own successor
// do the same.
std::string KernelIntrinsics() {
  return R"(
#define PLAIT_KERNEL extern "C" __global__ void
__device__ __forceinline__ void AwaitEarlierKernels() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
__device__ __forceinline__ float HalfToFloat(unsigned short bits) {
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
  return x;
}
__device__ __forceinline__ unsigned short FloatToHalf(float x) {
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
}
__device__ __forceinline__ float BfloatToFloat(unsigned short bits) {
  return __uint_as_float(static_cast<unsigned>(bits) << 16);
}
__device__ __forceinline__ unsigned short FloatToBfloat(float x) {
  unsigned short bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
}
__device__ __forceinline__ float ToTf32(float x) {
  unsigned bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
  return __uint_as_float(bits);
}
// sum += left * right by all lanes of a warp: 16 rows, 8 columns, 8 deep (attention_tf32.cc).
__device__ __forceinline__ void MultiplyTf32(float (&sum)[4], const float (&left)[4],
                                             const float (&right)[2]) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(__float_as_uint(left[0])), "r"(__float_as_uint(left[1])),
        "r"(__float_as_uint(left[2])), "r"(__float_as_uint(left[3])),
        "r"(__float_as_uint(right[0])), "r"(__float_as_uint(right[1])));
}
)";
}

namespace {

// T is the storage type; a kernel's text is the same for all three. The 16-bit types are structs,
// so that no arithmetic is done on their bits by accident.
constexpr const char* kStorageFloat = R"(
typedef float T;
__device__ inline float ToFloat(T x) { return x; }
__device__ inline T FromFloat(float x) { return x; }
)";

constexpr const char* kStorageShort = R"(
struct T { unsigned short bits; };
__device__ inline float ToFloat(T x) { return $NAME$ToFloat(x.bits); }
__device__ inline T FromFloat(float x) { return T{FloatTo$NAME$(x)}; }
)";

// Maximum, Minimum and what is made of them give NaN for NaN, as ONNX and the other backends do;
// fmaxf and fminf would drop it. Vector<N> is aligned to its size, so that the compiler makes one
// load or store of it. The warp reductions exchange by butterfly, in five steps: afterwards all 32
// lanes have the result, and in the same order of additions.
constexpr const char* kCommon = R"(
template <int N> struct alignas(N * sizeof(T)) Vector { T v[N]; };
template <int N> __device__ inline void LoadVector(const T* from, float* x) {
  const Vector<N> loaded = *reinterpret_cast<const Vector<N>*>(from);
#pragma unroll
  for (int i = 0; i < N; ++i) x[i] = ToFloat(loaded.v[i]);
}
template <int N> __device__ inline void StoreVector(T* to, const float* x) {
  Vector<N> stored;
#pragma unroll
  for (int i = 0; i < N; ++i) stored.v[i] = FromFloat(x[i]);
  *reinterpret_cast<Vector<N>*>(to) = stored;
}
template <int N> __device__ inline void CopyVector(T* to, const T* from) {
  *reinterpret_cast<Vector<N>*>(to) = *reinterpret_cast<const Vector<N>*>(from);
}
__device__ inline float NegativeInfinity() { return __uint_as_float(0xff800000u); }
__device__ inline float Negative(float x) { return -x; }
__device__ inline float Maximum(float a, float b) { return a > b || a != a ? a : b; }
__device__ inline float Minimum(float a, float b) { return a < b || a != a ? a : b; }
__device__ inline float Relu(float x) { return x < 0.0f ? 0.0f : x; }
__device__ inline float Clip(float x, float low, float high) {
  return Minimum(Maximum(x, low), high);
}
__device__ inline float Relu6(float x) { return Clip(x, 0.0f, 6.0f); }
__device__ inline float Sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }
__device__ inline float Silu(float x) { return x / (1.0f + expf(-x)); }
__device__ inline float Gelu(float x) { return 0.5f * x * (1.0f + erff(x * 0.70710678f)); }
__device__ inline float GeluTanh(float x) {
  return 0.5f * x * (1.0f + tanhf(0.79788456f * (x + 0.044715f * x * x * x)));
}
__device__ inline float WarpSum(float x) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) x += __shfl_xor_sync(0xffffffffu, x, step);
  return x;
}
__device__ inline float WarpMax(float x) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) x = Maximum(x, __shfl_xor_sync(0xffffffffu, x, step));
  return x;
}
)";

const char* ParameterName(KernelArgument::Kind kind) {
  static constexpr const char* kNames[] = {
      "x",        "weights", "packed_weights", "second_weights", "bias", "second_bias",
      "residual", "y",       "error",          "workspace",      "step"};
  return kNames[static_cast<int>(kind)];
}

}  // namespace

std::string KernelPrelude(Precision precision) {
  std::string storage = kStorageFloat;
  if (precision == Precision::kFp16) storage = Replace(kStorageShort, {{"NAME", "Half"}});
  if (precision == Precision::kBf16) storage = Replace(kStorageShort, {{"NAME", "Bfloat"}});
  return storage + kCommon;
}

// Intrinsics first: the prelude's conversions call them. Each kernel has constants of its own
// under names that all have.
std::string DeviceSource(const std::vector<const GeneratedKernel*>& kernels, Precision precision) {
  std::string text = KernelIntrinsics() + KernelPrelude(precision);
  std::set<std::string> entries;
  for (const GeneratedKernel* kernel : kernels) {
    const std::string entry = EntryOf(*kernel, precision);
    if (!entries.insert(entry).second) continue;
    text += std::string("#define ") + kKernelEntry + " " + entry + "\nnamespace " + entry +
            "_text {\n" + kernel->source + "}\n#undef " + kKernelEntry + "\n";
  }
  return text;
}

// FNV-1a: kept code is found by it in later processes, so that it stays what it is.
std::string EntryOf(const GeneratedKernel& kernel, Precision precision) {
  uint64_t hash = 14695981039346656037u;
  for (const char byte : PrecisionName(precision) + ("\n" + kernel.source)) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 1099511628211u;
  }
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash));
  return std::string(kKernelEntry) + "_" + digits;
}

// Ints: ShapeOf() has bounded every size by 2^31.
std::string Constants(std::initializer_list<std::pair<const char*, int64_t>> constants) {
  std::string text;
  for (const auto& [name, value] : constants) {
    text += std::string("constexpr int ") + name + " = " + std::to_string(value) + ";\n";
  }
  return text;
}

std::string WindowConstants(const ConvProblem& conv, const KernelForm& form) {
  return Constants({{"kBatch", conv.n},
                    {"kChannels", conv.c},
                    {"kH", conv.h},
                    {"kW", conv.w},
                    {"kR", conv.r},
                    {"kS", conv.s},
                    {"kStrideH", conv.stride[0]},
                    {"kStrideW", conv.stride[1]},
                    {"kDilationH", conv.dilation[0]},
                    {"kDilationW", conv.dilation[1]},
                    {"kTop", conv.pad[0]},
                    {"kLeft", conv.pad[1]},
                    {"kOutputH", conv.output_h()},
                    {"kOutputW", conv.output_w()},
                    {"kInputPitch", PitchOr(form.pitches.input(0), conv.c)},
                    {"kOutputPitch", PitchOr(form.pitches.output(0), conv.k)},
                    {"kResidualPitch", PitchOr(form.pitches.residual, conv.k)},
                    {"kChannelsLast", form.layout == MemoryLayout::kNhwc ? 1 : 0}});
}

std::string Replace(std::string text,
                    std::initializer_list<std::pair<const char*, std::string>> values) {
  for (const auto& [name, value] : values) {
    const std::string key = std::string("$") + name + "$";
    for (size_t at = text.find(key); at != std::string::npos; at = text.find(key, at)) {
      text.replace(at, key.size(), value);
      at += value.size();
    }
  }
  return text;
}

int VectorWidth(const KernelForm& form, std::initializer_list<int64_t> sizes, ElementType type) {
  const int64_t element = ElementBytes(type, form.precision);
  const int64_t bytes = std::clamp<int64_t>(form.alignment_bytes, element, 16);
  int width = static_cast<int>(bytes / element);
  const auto fit = [&](int64_t size) {
    while (size % width != 0) width /= 2;
  };
  for (const int64_t size : sizes) fit(size);
  for (const PixelPitch& pitch : form.pitches.inputs) fit(pitch.pitch);
  for (const PixelPitch& pitch : form.pitches.outputs) fit(pitch.pitch);
  fit(form.pitches.residual.pitch);
  return width;
}

std::vector<int64_t> InMemoryOrder(const std::vector<int64_t>& shape, MemoryLayout layout) {
  if (shape.size() != 4 || layout != MemoryLayout::kNhwc) return shape;
  return {shape[0], shape[2], shape[3], shape[1]};
}

std::string Parameters(const std::vector<KernelArgument>& arguments) {
  std::string text;
  for (const KernelArgument& argument : arguments) {
    const bool output = argument.kind == KernelArgument::Kind::kOutput;
    if (!text.empty()) text += ", ";
    if (argument.kind == KernelArgument::Kind::kStep) {
      text += "const int step";
      continue;
    }
    if (argument.kind == KernelArgument::Kind::kWorkspace) {
      text += "float* __restrict__ workspace";
      continue;
    }
    // __restrict__: outputs overlap nothing, so that loads may move across stores.
    text += std::string(output ? "" : "const ") + StoredName(argument.type) + "* __restrict__ " +
            ParameterName(argument.kind);
    if (output || argument.kind == KernelArgument::Kind::kInput) {
      text += std::to_string(argument.index);
    }
  }
  return text;
}

KernelDevice KernelDeviceOf(int sm_major, int sm_minor, int multiprocessors) {
  KernelDevice device{.multiprocessors = multiprocessors};
  const bool is_small = (sm_major == 8 && sm_minor != 0) || sm_major == 12;
  if (is_small) {
    device.shared_bytes = 99 << 10;
    device.threads = 1536;
  } else if (sm_major == 8) {
    device.shared_bytes = 163 << 10;
  }
  return device;
}

}  // namespace plait::cuda
