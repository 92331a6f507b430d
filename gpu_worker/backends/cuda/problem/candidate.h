#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gpu_worker/backends/cuda/driver/result.h"
#include "gpu_worker/backends/cuda/problem/pixel_pitch.h"
#include "gpu_worker/backends/cuda/problem/problem.h"

struct CUstream_st;

namespace plait::cuda {
class KernelCache;
class KernelLibraries;
class Runtime;
}  // namespace plait::cuda

// The vocabulary of the cuda backend: what is to be computed, and the ways to compute it. The map:
//   problem.h            one kernel's worth of work as plain data: a conv, a gemm, a pool ...
//   problem_shape.h      checks a problem; sizes, strides, bytes and operations of its operands
//   expression.h         chains of elementwise operators: parsed, evaluated, written as source
//   host_operands.h      seeded numbers for every operand, and their storage types
//   reference_problem.h  the right answer in float64
//   sample.h             which elements of it are compared
//   difference.h         how far an output is from it, and how far it may be
//   pixel_pitch.h        images that lie in others
//   index_error.h        what a gather says about indices that are out of range
//   candidate.h          one way to compute a problem, and the interface of those who list ways
// The ways themselves come from three sources beside this folder: cudnn, cublaslt and generated.
// All of it builds without Abseil and without the rest of plait.

namespace plait::cuda {

// What memory of the device is aligned to where it is allocated, and arenas keep to: cuBLASLt's
// best algorithms want it, and workspaces have it always.
inline constexpr int64_t kDeviceAlignmentBytes = 256;

// What the addresses of a problem's operands are multiples of, in bytes: powers of two, at least an
// element's size, and 8 for a gather's indices. An operand of its own has kDeviceAlignmentBytes; a
// slice that is not copied, or a part of a concatenation, as little as 4.
// Fewer candidates work with less; so it is told when they are listed. Where several operands are
// of one kind it is the least of them.
struct OperandAlignment {
  int64_t inputs = kDeviceAlignmentBytes;
  int64_t weights = kDeviceAlignmentBytes;  // of both halves of a separable convolution
  int64_t bias = kDeviceAlignmentBytes;     // likewise
  int64_t residual = kDeviceAlignmentBytes;
  int64_t outputs = kDeviceAlignmentBytes;

  int64_t least() const { return std::min({inputs, weights, bias, residual, outputs}); }

  friend bool operator==(const OperandAlignment&, const OperandAlignment&) = default;
};

// How the operands of a problem lie in memory.
// Libraries have no kernels for some pitches, and lists are shorter then.
struct OperandPlaces {
  OperandAlignment alignment;
  OperandPitches pitches;

  friend bool operator==(const OperandPlaces&, const OperandPlaces&) = default;
};

// Errors: kInvalid for what is no power of two or less than an element of `precision`.
Status CheckAlignment(const OperandAlignment& alignment, Precision precision);

// Whether `address` is a multiple of `alignment_bytes`.
inline bool IsAligned(const void* address, int64_t alignment_bytes) {
  return reinterpret_cast<uintptr_t>(address) % static_cast<uintptr_t>(alignment_bytes) == 0;
}

// Where a candidate's operands lie on the device, in the problem's order: inputs (activations),
// then weights, bias and residual where the problem has them. Owned by the caller.
// All are device addresses, aligned as was told when the candidate was listed, in the storage type
// of the precision; a gather's indices are int64. An operand that the problem lacks is null.
// Outputs overlap no other operand. The workspace is aligned to kDeviceAlignmentBytes.
struct Operands {
  std::vector<const void*> inputs;
  const void* weights = nullptr;
  const void* packed_weights = nullptr;  // the first ones again, as PackWeights() has them
  const void* second_weights = nullptr;  // the pointwise half of a separable convolution
  const void* bias = nullptr;
  const void* second_bias = nullptr;
  const void* residual = nullptr;
  std::vector<void*> outputs;
  void* workspace = nullptr;
  // 8 bytes that are 0 before a launch, or null. A gather with an index that is out of range writes
  // there which one (see index_error.h), and reads another row instead.
  void* error_word = nullptr;
};

// One way to compute a problem: a cuDNN engine with its knobs, a cuBLASLt algorithm, a generated
// kernel. Not thread-safe. Launch() only enqueues, so that it can be captured.
// The protocol: list, read the notes, Prepare(), allocate workspace_bytes(), Launch() any number of
// times. Two launches that may run at the same time need two workspaces: kernels that split their
// sums keep the parts there.
class Candidate {
 public:
  virtual ~Candidate() = default;

  // Stable across runs of one library version: the source, engine and knobs, as in
  // "cudnn/eng28/k2=1,k14=3". Part of the ProfileKey as its variant.
  virtual std::string name() const = 0;

  // Numerical and behaviour notes in words: "tensor_core", "down_convert_inputs",
  // "nondeterministic", "winograd", "fft", "reduced_precision_reduction", "runtime_compilation" ...
  // A source has left out what the precision does not allow (IsAllowed); a caller with little time
  // leaves out "runtime_compilation".
  virtual std::vector<std::string> notes() const = 0;

  // Compiles or loads what has to be; without a device as far as the library can.
  // May take seconds where something is compiled. A second call changes nothing.
  // Errors: kUnsupported, kUnavailable, kInternal.
  virtual Status Prepare() = 0;

  // Bytes that Operands::workspace has to have.
  // 0: the pointer may be null.
  // REQUIRES: Prepare() succeeded.
  virtual size_t workspace_bytes() const = 0;

  // What captured launches refer to: the library of a kernel, a plan. A graph with a launch of this
  // candidate keeps it (FlatGraphBuilder::Keep), and so may outlive the candidate. Null: nothing
  // that would be freed before the process ends.
  // REQUIRES: Prepare() succeeded.
  virtual std::shared_ptr<const void> resources() const { return nullptr; }

  // Whether a launch is one kernel that waits by itself for what is before it, before it reads or
  // writes anything (griddepcontrol.wait): a graph may let it begin early.
  virtual bool waits_by_itself() const { return false; }

  // Enqueues one run.
  // Does not wait for the device. The first launch is better not a captured one, as libraries load
  // modules in it. A captured launch has the addresses of `operands` in it, which have to stay
  // valid as long as the graph is launched.
  // REQUIRES: Prepare() succeeded.
  // Errors: kDevice, kUnsupported; kInvalid for an operand that is missing or not aligned as was
  // told: on the device that would be an illegal address, which ends the process.
  virtual Status Launch(const Operands& operands, CUstream_st* stream) = 0;
};

// Whether what a library notes about a way to compute is allowed by a precision.
// Never: "nondeterministic", since equal inputs give equal bits everywhere; and
// "reduced_precision_reduction", since every precision promises sums in fp32. In kStrict neither
// what no one knows, "unknown_numerical_note", nor, if `has_products`, "tensor_core" and
// "down_convert_inputs". Without products, engines that are compiled for a graph are noted as using
// tensor cores though there is nothing to multiply.
bool IsAllowed(const std::vector<std::string>& notes, bool has_products, Precision precision);

// Whether it takes long to prepare, because a library compiles it then.
bool IsRuntimeCompiled(const Candidate& candidate);

// The device that candidates are listed for.
struct CudaDevice {
  std::string json;  // cuDNN's description of a device (CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION)
  int sm_major = 9, sm_minor = 0;
  int multiprocessors = 132;
  bool present = false;  // false: nothing can be launched, and candidates are only listed and built
  // What candidates of our own kernels load and launch with where the device is present. Not owned;
  // outlives them.
  Runtime* runtime = nullptr;
  // Where these find and leave the code that NVRTC compiles; null: nowhere. Not owned, too.
  KernelCache* kernel_cache = nullptr;
  // What loads it, with that runtime; null: each candidate loads for itself. Not owned, too.
  KernelLibraries* kernel_libraries = nullptr;
};

// Lists the candidates of one library. Constants, one line each in candidate_sources.def.
// A source decides what a precision allows: for kStrict it lists only what neither uses tensor
// cores nor rounds inputs.
struct CandidateSource {
  const char* name;
  // Every candidate for the problem, best guess first, without duplicates. A problem that the
  // source does not know gives an empty list.
  // Errors: kUnavailable when the library is missing; kInvalid for a problem or an alignment that
  // there is not.
  Result<std::vector<std::unique_ptr<Candidate>>> (*enumerate)(const Problem& problem,
                                                               Precision precision,
                                                               MemoryLayout layout,
                                                               const OperandPlaces& places,
                                                               const CudaDevice& device);
  // Does for several of its candidates, of one device, the part of Prepare() that takes less time
  // together: Prepare() follows, and says what has failed. Null: there is no such part. Thread-safe
  // for different candidates.
  void (*prepare_together)(const std::vector<Candidate*>& candidates) = nullptr;
};

}  // namespace plait::cuda
