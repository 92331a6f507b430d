#pragma once

#include <string>
#include <vector>

#include <cudnn.h>

#include "gpu_worker/backends/cuda/cudnn/descriptor.h"
#include "gpu_worker/backends/cuda/cudnn/library.h"

namespace plait::cuda {

// One engine of cuDNN with the values of its knobs, and what cuDNN notes about it.
// Two configurations of one name compute alike: the name is all that distinguishes them, so it is
// also what measurements are kept under. It holds for one version of cuDNN.
struct CudnnEngineConfig {
  CudnnDescriptor config;
  std::string name;  // "eng28/k2=1,k14=3": engine and knobs in the order of their type
  std::vector<std::string> notes;  // in words, as Candidate::notes() gives them
};

// The property descriptor of a device that need not be present.
// With it cuDNN lists and builds engines where no GPU is. Precompiled engines need nothing else;
// those that are compiled at run time are listed only if a libcuda.so.1 can be loaded.
// Errors: kInvalid for bad JSON.
Result<CudnnDescriptor> DescribeCudnnDevice(const CudnnLibrary& library, const std::string& json);

// The JSON of a finalized property descriptor.
// Errors: kInternal.
Result<std::string> ReadCudnnDeviceJson(const CudnnDescriptor& device);

// Every engine configuration for the finalized operation graph that cuDNN's heuristic A and its
// fallback list name, A's first, each once. `device` is null when the operation graph has a handle.
// Not an error: no engine at all, where cuDNN refuses the graph.
// The first call of a process takes some 0.1 to 0.3 s, later ones milliseconds (seen with cuDNN
// 9.19 and a described device).
// Errors: kUnavailable, kDevice, kInternal, where neither of the two lists anything.
Result<std::vector<CudnnEngineConfig>> ListCudnnEngines(const CudnnLibrary& library,
                                                        const CudnnDescriptor& operation_graph,
                                                        const CudnnDescriptor* device);

// Removes configurations whose name occurred before. Stable.
void RemoveDuplicateEngines(std::vector<CudnnEngineConfig>* configs);

// Whether `notes` has `note`.
bool HasNote(const std::vector<std::string>& notes, const char* note);

}  // namespace plait::cuda
