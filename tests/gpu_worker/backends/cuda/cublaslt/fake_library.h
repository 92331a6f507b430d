#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <cublasLt.h>

#include "gpu_worker/backends/cuda/cublaslt/library.h"

namespace plait::cuda {

// One algorithm that the fake's heuristic returns.
struct FakeAlgorithm {
  uint64_t id = 0;
  uint64_t numerical_flags = CUBLASLT_NUMERICAL_IMPL_FLAGS_FMA;
  bool can_split = false;
  float waves = 2.0F;
  uint64_t workspace_bytes = 0;
  uint32_t alignment = 16;  // of every matrix, that it needs
  uint32_t splits = 1;
  uint32_t scheme = CUBLASLT_REDUCTION_SCHEME_NONE;
};

// What a fake cuBLASLt was told and is to answer. Split sums want 1 MiB of workspace per part.
struct FakeCublasLt {
  std::vector<FakeAlgorithm> algorithms;
  cublasStatus_t heuristic_status = CUBLAS_STATUS_SUCCESS;

  std::set<const void*> alive;                  // descriptors created and not destroyed
  std::map<int, int32_t> operation;             // 32-bit attributes of the last operation
  std::vector<const void*> biases;              // every bias address it was given
  std::vector<std::map<int, int64_t>> layouts;  // attributes per layout, in order of creation
  uint64_t workspace_bytes_max = 0;             // of the last preference
  std::map<int, uint32_t> alignments;           // likewise, by its attribute
  struct Launch {
    float alpha = 0, beta = 0;
    const void *a = nullptr, *b = nullptr, *c = nullptr, *d = nullptr, *workspace = nullptr;
    uint64_t algorithm = 0, splits = 0;
    size_t workspace_bytes = 0;
  };
  std::vector<Launch> launches;
};

// The state behind FakeCublasLtLibrary(). One per process, as C functions carry none.
FakeCublasLt& TheFakeCublasLt();

// A library whose functions record into TheFakeCublasLt().
CublasLtLibrary FakeCublasLtLibrary();

}  // namespace plait::cuda
