#include "gpu_worker/simulated_gpu/cublaslt/product_kernel.h"

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "gpu_worker/simulated_gpu/activations.h"
#include "gpu_worker/simulated_gpu/half_floats.h"
#include "gpu_worker/simulated_gpu/products.h"

namespace plait::simulated_gpu {
namespace {

constexpr unsigned kProductThreads = 128;  // of a block

double NumberOf(uint64_t word) { return std::bit_cast<float>(static_cast<uint32_t>(word)); }

std::string Describe(const MatrixLayout& matrix) {
  return absl::StrCat(matrix.rows, "x", matrix.columns, ".", matrix.leading, ".",
                      matrix.batch_stride);
}

std::string ProductName(const Product& product, const ChosenAlgorithm& chosen) {
  const ProductOperation& operation = product.operation;
  return absl::StrCat("simulated_cublaslt_", chosen.algorithm->name, "_splits", chosen.splits, "_",
                      operation.transpose_a == CUBLAS_OP_N ? "n" : "t",
                      operation.transpose_b == CUBLAS_OP_N ? "n" : "t", "_epilogue",
                      operation.epilogue, "_a", Describe(product.a), "_b", Describe(product.b),
                      "_c", Describe(product.c), "_d", Describe(product.d), "_batch",
                      product.d.batch);
}

ElementType CublasLtElementType(cudaDataType_t type) {
  if (type == CUDA_R_32F) return ElementType::kFloat;
  return type == CUDA_R_16F ? ElementType::kHalf : ElementType::kBfloat16;
}

}  // namespace

ProductKernel::ProductKernel(const Product& product, const ChosenAlgorithm& chosen)
    : product_(product),
      chosen_(chosen),
      workspace_bytes_(chosen.WorkspaceBytes(product)),
      name_(ProductName(product, chosen)) {}

LaunchShape ProductKernel::shape() const {
  return {{static_cast<unsigned>(chosen_.Blocks(product_)), 1, 1}, {kProductThreads, 1, 1}};
}

// As the transpose of what the library has: [batch, columns, rows].
TensorPlace ProductKernel::Place(const char* name, const MatrixLayout& matrix,
                                 uint64_t address) const {
  const auto rows = static_cast<int64_t>(matrix.rows);
  const auto columns = static_cast<int64_t>(matrix.columns);
  return {.name = name,
          .address = address,
          .sizes = {matrix.batch, columns, rows},
          .strides = {matrix.batch_stride, matrix.leading, 1},
          .type = CublasLtElementType(matrix.type),
          .alignment_bytes = chosen_.algorithm->alignment_bytes};
}

TensorPlace ProductKernel::BiasPlace(uint64_t address) const {
  return {.name = "bias",
          .address = address,
          .sizes = {product_.m()},
          .strides = {1},
          .type = CublasLtElementType(product_.d.type)};
}

TouchedParts ProductKernel::PartsOf(absl::Span<const uint64_t> arguments) const {
  TouchedParts parts;
  AddReads(Place("a", product_.a, arguments[kA]), &parts.emplace_back());
  AddReads(Place("b", product_.b, arguments[kB]), &parts.emplace_back());
  // c may be d, which every thread reads before it writes.
  if (NumberOf(arguments[kBeta]) != 0 && arguments[kC] != arguments[kD]) {
    AddReads(Place("c", product_.c, arguments[kC]), &parts.emplace_back());
  }
  if (product_.has_bias()) AddReads(BiasPlace(arguments[kBias]), &parts.emplace_back());
  AddWrites(Place("d", product_.d, arguments[kD]), &parts.emplace_back());
  parts.emplace_back().Write({arguments[kWorkspace], arguments[kWorkspace] + workspace_bytes_});
  return parts;
}

Touches ProductKernel::TouchesOf(absl::Span<const uint64_t> arguments) const {
  return Joined(PartsOf(arguments));
}

double ProductKernel::Activate(double x) const {
  switch (product_.operation.epilogue) {
    case CUBLASLT_EPILOGUE_RELU:
    case CUBLASLT_EPILOGUE_RELU_BIAS:
      return Relu(x);
    case CUBLASLT_EPILOGUE_GELU:
    case CUBLASLT_EPILOGUE_GELU_BIAS:
      return GeluTanh(x);
    default:
      return x;
  }
}

// d' = b' a', of which the memory has b' and a' row by row unless they are transposed once more.
absl::Status ProductKernel::Run(absl::Span<const uint64_t> arguments, DeviceMemory* memory) const {
  PLAIT_RETURN_IF_ERROR(CheckApart(PartsOf(arguments), memory));
  const auto read = [&](const char* name, const MatrixLayout& matrix, Parameter parameter) {
    return ReadTensor(Place(name, matrix, arguments[parameter]), memory);
  };
  PLAIT_ASSIGN_OR_RETURN(std::vector<double> a, read("a", product_.a, kA));
  PLAIT_ASSIGN_OR_RETURN(std::vector<double> b, read("b", product_.b, kB));
  if ((chosen_.algorithm->numerical_flags & CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_TF32) != 0) {
    for (double& x : a) x = RoundToTf32(static_cast<float>(x));
    for (double& x : b) x = RoundToTf32(static_cast<float>(x));
  }
  const int64_t m = product_.m(), n = product_.n(), k = product_.k();
  const double alpha = NumberOf(arguments[kAlpha]), beta = NumberOf(arguments[kBeta]);
  std::vector<double> c, bias;
  if (beta != 0) {
    PLAIT_ASSIGN_OR_RETURN(c, read("c", product_.c, kC));
  }
  if (product_.has_bias()) {
    PLAIT_ASSIGN_OR_RETURN(bias, ReadTensor(BiasPlace(arguments[kBias]), memory));
  }
  std::vector<double> d(static_cast<size_t>(product_.d.batch * m * n));
  for (int64_t i = 0; i < product_.d.batch; ++i) {
    absl::Span<const double> left = absl::MakeSpan(b).subspan(i * n * k, n * k);
    absl::Span<const double> right = absl::MakeSpan(a).subspan(i * k * m, k * m);
    std::vector<double> plain_left, plain_right;
    if (product_.operation.transpose_b != CUBLAS_OP_N) {
      left = plain_left = Transposed(k, n, left);
    }
    if (product_.operation.transpose_a != CUBLAS_OP_N) {
      right = plain_right = Transposed(m, k, right);
    }
    MultiplyAdd(n, m, k, left, right, absl::MakeSpan(d).subspan(i * m * n, m * n));
  }
  for (size_t i = 0; i < d.size(); ++i) {
    double x = alpha * d[i];
    if (beta != 0) x += beta * c[i];
    if (!bias.empty()) x += bias[i % static_cast<size_t>(m)];
    d[i] = Activate(x);
  }
  PLAIT_RETURN_IF_ERROR(SpoilWorkspace(arguments[kWorkspace], workspace_bytes_, memory));
  return WriteTensor(Place("d", product_.d, arguments[kD]), d, memory);
}

}  // namespace plait::simulated_gpu
