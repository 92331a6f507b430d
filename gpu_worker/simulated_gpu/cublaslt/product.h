#pragma once

#include <array>
#include <cstdint>
#include <string>

#include <cublasLt.h>

namespace plait::simulated_gpu {

// What cuBLASLt's descriptors say, with the values that they have where nobody has said another.

struct ProductOperation {
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  cudaDataType_t scale = CUDA_R_32F;
  int32_t transpose_a = CUBLAS_OP_N, transpose_b = CUBLAS_OP_N;
  uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  uint64_t bias = 0;  // an address
};

// Column by column.
struct MatrixLayout {
  cudaDataType_t type = CUDA_R_32F;
  uint64_t rows = 0, columns = 0;
  int64_t leading = 0;
  int32_t batch = 1;
  int64_t batch_stride = 0;
};

struct ProductPreference {
  uint64_t workspace_bytes_max = 0;
  std::array<uint32_t, 4> alignments = {256, 256, 256, 256};  // of a, b, c, d
};

// One product: d = epilogue(alpha op(a) op(b) + beta c + bias).
struct Product {
  ProductOperation operation;
  MatrixLayout a, b, c, d;

  int64_t m() const { return static_cast<int64_t>(d.rows); }
  int64_t n() const { return static_cast<int64_t>(d.columns); }
  int64_t k() const {
    return static_cast<int64_t>(operation.transpose_a == CUBLAS_OP_N ? a.columns : a.rows);
  }
  bool has_bias() const;
};

// CUBLAS_STATUS_SUCCESS; INVALID_VALUE for matrices that do not fit together; NOT_SUPPORTED for
// what no algorithm here computes, `why` says what.
cublasStatus_t CheckProduct(const Product& product, std::string* why);

int64_t ElementBytesOf(cudaDataType_t type);

}  // namespace plait::simulated_gpu
