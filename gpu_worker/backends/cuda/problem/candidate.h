#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "gpu_worker/backends/cuda/driver/result.h"
#include "gpu_worker/backends/cuda/problem/problem.h"

struct CUstream_st;

namespace plait::cuda {

// Where a candidate's operands lie on the device, in the problem's order: inputs (activations),
// then weights, bias and residual where the problem has them. Owned by the caller.
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
class Candidate {
 public:
  virtual ~Candidate() = default;

  // Stable across runs of one library version: the source, engine and knobs, as in
  // "cudnn/eng28/k2=1,k14=3". Part of the ProfileKey as its variant.
  virtual std::string name() const = 0;

  // Numerical and behaviour notes in words: "tensor_core", "down_convert_inputs",
  // "nondeterministic", "winograd", "fft", "reduced_precision_reduction", "runtime_compilation" ...
  virtual std::vector<std::string> notes() const = 0;

  // Compiles or loads what has to be; without a device as far as the library can.
  // Errors: kUnsupported, kUnavailable, kInternal.
  virtual Status Prepare() = 0;

  // Bytes that Operands::workspace has to have. REQUIRES: Prepare() succeeded.
  virtual size_t workspace_bytes() const = 0;

  // Enqueues one run. REQUIRES: Prepare() succeeded. Errors: kDevice, kUnsupported.
  virtual Status Launch(const Operands& operands, CUstream_st* stream) = 0;
};

// The device that candidates are listed for.
struct CudaDevice {
  std::string json;  // cuDNN's description of a device (CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION)
  int sm_major = 9, sm_minor = 0;
  int multiprocessors = 132;
  bool present = false;  // false: nothing can be launched, and candidates are only listed and built
};

// Lists the candidates of one library. Constants, one line each in candidate_sources.def.
struct CandidateSource {
  const char* name;
  // Every candidate for the problem, best guess first, without duplicates. A problem that the
  // source does not know gives an empty list. Errors: kUnavailable when the library is missing.
  Result<std::vector<std::unique_ptr<Candidate>>> (*enumerate)(const Problem& problem,
                                                               Precision precision,
                                                               MemoryLayout layout,
                                                               const CudaDevice& device);
};

}  // namespace plait::cuda
