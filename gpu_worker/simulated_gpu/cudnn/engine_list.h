#pragma once

#include <memory>
#include <string>
#include <vector>

#include <cudnn.h>

#include "gpu_worker/backends/cuda/cudnn/library.h"
#include "gpu_worker/simulated_gpu/cudnn/descriptor.h"
#include "gpu_worker/simulated_gpu/cudnn/engine.h"

namespace plait::simulated_gpu {

// The status that cuDNN gives, and its words.
struct CudnnVerdict {
  cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
  std::string words;

  bool ok() const { return status == CUDNN_STATUS_SUCCESS; }
};

// An operation graph as descriptors of cuDNN itself, without a handle. Thread-compatible.
class MirroredGraph {
 public:
  explicit MirroredGraph(const cuda::CudnnLibrary* library) : library_(library) {}
  ~MirroredGraph();
  MirroredGraph(const MirroredGraph&) = delete;
  MirroredGraph& operator=(const MirroredGraph&) = delete;

  // What cuDNN says to the graph.
  CudnnVerdict Mirror(const Descriptor& graph);
  // What cuDNN says to the heuristic `mode` for the device that `json` describes.
  CudnnVerdict List(cudnnBackendHeurMode_t mode, const std::string& json,
                    std::vector<CudnnEngine>* engines) const;

 private:
  CudnnVerdict MirrorPart(const Descriptor& descriptor, cudnnBackendDescriptor_t* mirrored);

  const cuda::CudnnLibrary* const library_;
  std::vector<cudnnBackendDescriptor_t> made_;
  std::map<const Descriptor*, cudnnBackendDescriptor_t> known_;
  cudnnBackendDescriptor_t graph_ = nullptr;
};

// The engines for a graph where cuDNN is missing. They have numbers that cuDNN has not, and one of
// each kind that callers have to tell apart.
std::vector<CudnnEngine> EnginesWithoutCudnn(const OperationGraph& graph,
                                             cudnnBackendHeurMode_t mode);

}  // namespace plait::simulated_gpu
