#include "gpu_worker/simulated_gpu/cublaslt/product.h"

namespace plait::simulated_gpu {
namespace {

cublasStatus_t RefuseProduct(cublasStatus_t status, const char* words, std::string* why) {
  *why = words;
  return status;
}

bool IsKnownEpilogue(uint32_t epilogue) {
  switch (epilogue) {
    case CUBLASLT_EPILOGUE_DEFAULT:
    case CUBLASLT_EPILOGUE_RELU:
    case CUBLASLT_EPILOGUE_BIAS:
    case CUBLASLT_EPILOGUE_RELU_BIAS:
    case CUBLASLT_EPILOGUE_GELU:
    case CUBLASLT_EPILOGUE_GELU_BIAS:
      return true;
    default:
      return false;
  }
}

cublasStatus_t CheckTypes(const Product& product, std::string* why) {
  const ProductOperation& operation = product.operation;
  for (const MatrixLayout* matrix : {&product.b, &product.c, &product.d}) {
    if (matrix->type != product.a.type) {
      return RefuseProduct(CUBLAS_STATUS_NOT_SUPPORTED, "matrices of several types", why);
    }
  }
  const bool is_single = product.a.type == CUDA_R_32F;
  const bool is_short = product.a.type == CUDA_R_16F || product.a.type == CUDA_R_16BF;
  const bool is_plain = operation.compute == CUBLAS_COMPUTE_32F && (is_single || is_short);
  const bool is_tf32 = operation.compute == CUBLAS_COMPUTE_32F_FAST_TF32 && is_single;
  if ((!is_plain && !is_tf32) || operation.scale != CUDA_R_32F) {
    return RefuseProduct(CUBLAS_STATUS_NOT_SUPPORTED, "another type than fp32, fp16 or bf16", why);
  }
  if (!IsKnownEpilogue(operation.epilogue)) {
    return RefuseProduct(CUBLAS_STATUS_NOT_SUPPORTED, "this epilogue", why);
  }
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

bool Product::has_bias() const {
  return operation.epilogue == CUBLASLT_EPILOGUE_BIAS ||
         operation.epilogue == CUBLASLT_EPILOGUE_RELU_BIAS ||
         operation.epilogue == CUBLASLT_EPILOGUE_GELU_BIAS;
}

cublasStatus_t CheckProduct(const Product& product, std::string* why) {
  const ProductOperation& operation = product.operation;
  const bool is_b_plain = operation.transpose_b == CUBLAS_OP_N;
  const uint64_t m = operation.transpose_a == CUBLAS_OP_N ? product.a.rows : product.a.columns;
  const uint64_t n = is_b_plain ? product.b.columns : product.b.rows;
  const uint64_t k = is_b_plain ? product.b.rows : product.b.columns;
  if (product.d.rows != m || product.d.columns != n || static_cast<uint64_t>(product.k()) != k) {
    return RefuseProduct(CUBLAS_STATUS_INVALID_VALUE, "sizes that do not fit together", why);
  }
  if (product.c.rows != m || product.c.columns != n) {
    return RefuseProduct(CUBLAS_STATUS_INVALID_VALUE, "c is not as large as d", why);
  }
  for (const MatrixLayout* matrix : {&product.a, &product.b, &product.c, &product.d}) {
    if (matrix->rows == 0 || matrix->columns == 0 || matrix->batch < 1 ||
        matrix->leading < static_cast<int64_t>(matrix->rows)) {
      return RefuseProduct(CUBLAS_STATUS_INVALID_VALUE,
                           "a matrix of no size, or columns that overlap", why);
    }
    if (matrix->batch != product.d.batch) {
      return RefuseProduct(CUBLAS_STATUS_INVALID_VALUE, "batches of several sizes", why);
    }
  }
  if (product.has_bias() && operation.bias == 0) {
    return RefuseProduct(CUBLAS_STATUS_INVALID_VALUE, "an epilogue with a bias, and no bias", why);
  }
  return CheckTypes(product, why);
}

int64_t ElementBytesOf(cudaDataType_t type) { return type == CUDA_R_32F ? 4 : 2; }

}  // namespace plait::simulated_gpu
