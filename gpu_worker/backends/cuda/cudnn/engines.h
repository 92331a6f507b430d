#pragma once

#include <string>
#include <vector>

#include <cudnn.h>

#include "gpu_worker/backends/cuda/cudnn/descriptor.h"
#include "gpu_worker/backends/cuda/cudnn/library.h"

namespace plait::cuda {

// One engine of cuDNN with the values of its knobs, and what cuDNN notes about it.
struct CudnnEngineConfig {
  CudnnDescriptor config;
  std::string name;  // "eng28/k2=1,k14=3": engine and knobs in the order of their type
  std::vector<std::string> notes;  // in words, as Candidate::notes() gives them
};

// The property descriptor of a device that need not be present. Errors: kInvalid for bad JSON.
Result<CudnnDescriptor> DescribeCudnnDevice(const CudnnLibrary& library, const std::string& json);

// The JSON of a finalized property descriptor. Errors: kInternal.
Result<std::string> ReadCudnnDeviceJson(const CudnnDescriptor& device);

// Every engine configuration for the finalized operation graph that cuDNN's heuristic A and its
// fallback list name, A's first, each once. `device` is null when the operation graph has a handle.
// Not an error: no engine at all. Errors: kInternal.
Result<std::vector<CudnnEngineConfig>> ListCudnnEngines(const CudnnLibrary& library,
                                                        const CudnnDescriptor& operation_graph,
                                                        const CudnnDescriptor* device);

// Removes configurations whose name occurred before. Stable.
void RemoveDuplicateEngines(std::vector<CudnnEngineConfig>* configs);

// Whether `notes` has `note`.
bool HasNote(const std::vector<std::string>& notes, const char* note);

}  // namespace plait::cuda
