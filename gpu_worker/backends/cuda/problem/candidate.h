#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "gpu_worker/backends/cuda/driver/result.h"
#include "gpu_worker/backends/cuda/problem/problem.h"

struct CUstream_st;

namespace plait::cuda {
class Runtime;
}

// The vocabulary of the cuda backend: what is to be computed, and the ways to compute it. The map:
//   problem.h            one kernel's worth of work as plain data: a conv, a gemm, a pool ...
//   problem_shape.h      checks a problem; sizes, strides, bytes and operations of its operands
//   expression.h         chains of elementwise operators: parsed, evaluated, written as source
//   host_operands.h      seeded numbers for every operand, and their storage types
//   reference_problem.h  the right answer in float64, and how far an output may be from it
//   candidate.h          one way to compute a problem, and the interface of those who list ways
// The ways themselves come from three sources beside this folder: cudnn, cublaslt and generated.
// All of it builds without Abseil and without the rest of plait.

namespace plait::cuda {

// Where a candidate's operands lie on the device, in the problem's order: inputs (activations),
// then weights, bias and residual where the problem has them. Owned by the caller.
// All are device addresses, aligned to 16 bytes, in the storage type of the precision; a gather's
// indices are int64. An operand that the problem lacks is null. Outputs overlap no other operand.
struct Operands {
  std::vector<const void*> inputs;
  const void* weights = nullptr;
  const void* second_weights = nullptr;  // the pointwise half of a separable convolution
  const void* bias = nullptr;
  const void* second_bias = nullptr;
  const void* residual = nullptr;
  std::vector<void*> outputs;
  void* workspace = nullptr;
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
  // A caller that wants equal bits from run to run leaves out "nondeterministic"; one with little
  // time leaves out "runtime_compilation".
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

  // Enqueues one run.
  // Does not wait for the device. The first launch is better not a captured one, as libraries load
  // modules in it. A captured launch has the addresses of `operands` in it, which have to stay
  // valid as long as the graph is launched.
  // REQUIRES: Prepare() succeeded.
  // Errors: kDevice, kUnsupported.
  virtual Status Launch(const Operands& operands, CUstream_st* stream) = 0;
};

// The device that candidates are listed for.
struct CudaDevice {
  std::string json;  // cuDNN's description of a device (CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION)
  int sm_major = 9, sm_minor = 0;
  int multiprocessors = 132;
  bool present = false;  // false: nothing can be launched, and candidates are only listed and built
  // What candidates of our own kernels load and launch with where the device is present. Not owned;
  // outlives them.
  Runtime* runtime = nullptr;
};

// Lists the candidates of one library. Constants, one line each in candidate_sources.def.
// A source decides what a precision allows: for kStrict it lists only what neither uses tensor
// cores nor rounds inputs.
struct CandidateSource {
  const char* name;
  // Every candidate for the problem, best guess first, without duplicates. A problem that the
  // source does not know gives an empty list.
  // Errors: kUnavailable when the library is missing.
  Result<std::vector<std::unique_ptr<Candidate>>> (*enumerate)(const Problem& problem,
                                                               Precision precision,
                                                               MemoryLayout layout,
                                                               const CudaDevice& device);
};

}  // namespace plait::cuda
