#pragma once

#include <cstdint>
#include <optional>

#include <cublasLt.h>

#include "gpu_worker/backends/cuda/problem/candidate.h"
#include "gpu_worker/backends/cuda/problem/problem.h"

namespace plait::cuda {

// Which operand of a problem a matrix is.
enum class ProductOperand { kFirstInput, kSecondInput, kWeights };

// A matrix as it is stored, column by column. `leading` is the distance of columns and
// `batch_stride` that of the batch's matrices, 0 for one that all share; both in elements.
// A row-major [rows, columns] matrix is here one of `columns` rows and `rows` columns, without a
// copy.
struct ProductMatrix {
  ProductOperand operand = ProductOperand::kFirstInput;
  int64_t rows = 1, columns = 1, leading = 1, batch_stride = 0;
  bool transposed = false;  // read as its transpose
};

// A problem as one call of cuBLASLt: d = epilogue(op(a) op(b) + residual + bias), all column by
// column. Our matrices lie row by row, so that a product x w is asked for as its transpose w' x':
// `a` is what a problem calls w, and the bias runs along the rows of d.
// By an example: x[2,3] w[3,4] row by row is d'[4,2] = w'[4,3] x'[3,2], with a = {rows 4, columns
// 3, leading 4}, b = {3, 2, leading 3}, d = {4, 2, leading 4}: the same bytes, read the other way.
struct CublasLtProduct {
  ProductMatrix a, b, d;
  int64_t batch = 1;
  bool bias = false;
  bool residual = false;  // read as the matrix c, with the layout of d
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  cudaDataType_t type = CUDA_R_32F;  // of all matrices and the bias
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
};

// The call for a gemm, and for a 1x1 convolution without stride, padding and groups, which is one:
// in kNhwc, and in kNchw if it has no bias. Nothing for other problems and for activations that no
// epilogue computes. cuBLASLt's GELU is the tanh form only.
// In kNchw a bias would have to run along the columns of d, which no epilogue does.
// Pixels that lie apart are columns that do; nothing for a residual that lies otherwise than d.
// REQUIRES: ShapeOf() accepts `problem`; pitches are of images in kNhwc.
std::optional<CublasLtProduct> DescribeProduct(const Problem& problem, Precision precision,
                                               MemoryLayout layout,
                                               const OperandPitches& pitches = {});

// Where a matrix lies.
// Null when `operands` has no such matrix.
const void* AddressOf(ProductOperand operand, const Operands& operands);

// What its address is a multiple of, in bytes.
int64_t AlignmentOf(ProductOperand operand, const OperandAlignment& alignment);

}  // namespace plait::cuda
