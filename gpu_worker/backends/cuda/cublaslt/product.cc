#include "gpu_worker/backends/cuda/cublaslt/product.h"

#include <utility>

namespace plait::cuda {
namespace {

std::optional<cublasLtEpilogue_t> EpilogueOf(Activation activation, bool bias) {
  switch (activation) {
    case Activation::kNone:
      return bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
    case Activation::kRelu:
      return bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
    case Activation::kGeluTanh:
      return bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
    // An epilogue for the other activations does not exist; a kernel behind the product would be
    // another candidate's work.
    default:
      return std::nullopt;
  }
}

void SetTypes(Precision precision, CublasLtProduct* product) {
  switch (precision) {
    case Precision::kStrict:
      product->compute = CUBLAS_COMPUTE_32F;
      break;
    // Allows rounding to TF32. CUBLAS_COMPUTE_32F does not, and kStrict's list is checked once
    // more.
    case Precision::kTf32:
      product->compute = CUBLAS_COMPUTE_32F_FAST_TF32;
      break;
    case Precision::kFp16:
      product->type = CUDA_R_16F;
      break;
    case Precision::kBf16:
      product->type = CUDA_R_16BF;
      break;
  }
}

// The transpose of the row-major x[m,k] w[k,n] with `x` and `w` as their operands.
CublasLtProduct Transposed(const GemmProblem& problem, ProductOperand x, ProductOperand w) {
  int64_t batch = problem.batch;
  int64_t m = problem.m;
  // Against constant weights the batch is only more rows, if the rows lie one after another.
  if (problem.weights && !problem.transpose_a) m *= std::exchange(batch, 1);
  const int64_t n = problem.n;
  const int64_t k = problem.k;
  CublasLtProduct product;
  product.batch = batch;
  product.a = {.operand = w,
               .rows = problem.transpose_b ? k : n,
               .columns = problem.transpose_b ? n : k,
               .leading = problem.transpose_b ? k : n,
               .batch_stride = w == ProductOperand::kWeights ? 0 : k * n,
               .transposed = problem.transpose_b};
  product.b = {.operand = x,
               .rows = problem.transpose_a ? m : k,
               .columns = problem.transpose_a ? k : m,
               .leading = problem.transpose_a ? m : k,
               .batch_stride = x == ProductOperand::kWeights ? 0 : m * k,
               .transposed = problem.transpose_a};
  product.d = {.rows = n, .columns = m, .leading = n, .batch_stride = m * n};
  product.bias = problem.bias;
  product.residual = problem.residual;
  return product;
}

std::optional<CublasLtProduct> Describe(const GemmProblem& problem) {
  const std::optional<cublasLtEpilogue_t> epilogue = EpilogueOf(problem.activation, problem.bias);
  if (!epilogue) return std::nullopt;
  CublasLtProduct product =
      Transposed(problem, ProductOperand::kFirstInput,
                 problem.weights ? ProductOperand::kWeights : ProductOperand::kSecondInput);
  product.epilogue = *epilogue;
  return product;
}

std::optional<CublasLtProduct> Describe(const ConvProblem& problem, MemoryLayout layout) {
  const std::optional<cublasLtEpilogue_t> epilogue = EpilogueOf(problem.activation, problem.bias);
  if (!problem.is_product() || problem.prologue_relu || !epilogue) return std::nullopt;
  GemmProblem gemm{.k = problem.c, .bias = problem.bias, .residual = problem.residual};
  std::optional<CublasLtProduct> product;
  if (layout == MemoryLayout::kNhwc) {
    // y[pixel, k] = x[pixel, c] weights[k, c]'.
    gemm.m = problem.n * problem.h * problem.w;
    gemm.n = problem.k;
    gemm.transpose_b = true;
    product = Transposed(gemm, ProductOperand::kFirstInput, ProductOperand::kWeights);
  } else if (!problem.bias) {
    // y[n][k, pixel] = weights[k, c] x[n][c, pixel]; a bias would run along the wrong dimension.
    gemm.batch = problem.n;
    gemm.m = problem.k;
    gemm.n = problem.h * problem.w;
    // The weights take the place of x, whose batch stride is 0 then: all images share them.
    gemm.weights = false;
    product = Transposed(gemm, ProductOperand::kWeights, ProductOperand::kFirstInput);
  }
  if (product) product->epilogue = *epilogue;
  return product;
}

}  // namespace

std::optional<CublasLtProduct> DescribeProduct(const Problem& problem, Precision precision,
                                               MemoryLayout layout, const OperandPitches& pitches) {
  std::optional<CublasLtProduct> product;
  const auto* gemm = std::get_if<GemmProblem>(&problem);
  if (gemm != nullptr && pitches.are_dense()) product = Describe(*gemm);
  if (const auto* conv = std::get_if<ConvProblem>(&problem)) {
    if (conv->residual && pitches.residual != pitches.output(0)) return std::nullopt;
    product = Describe(*conv, layout);
    if (product && !pitches.input(0).is_dense()) product->b.leading = pitches.input(0).pitch;
    if (product && !pitches.output(0).is_dense()) product->d.leading = pitches.output(0).pitch;
  }
  if (product) SetTypes(precision, &*product);
  return product;
}

const void* AddressOf(ProductOperand operand, const Operands& operands) {
  switch (operand) {
    case ProductOperand::kWeights:
      return operands.weights;
    case ProductOperand::kFirstInput:
      return operands.inputs.empty() ? nullptr : operands.inputs[0];
    case ProductOperand::kSecondInput:
      return operands.inputs.size() < 2 ? nullptr : operands.inputs[1];
  }
  return nullptr;
}

int64_t AlignmentOf(ProductOperand operand, const OperandAlignment& alignment) {
  return operand == ProductOperand::kWeights ? alignment.weights : alignment.inputs;
}

}  // namespace plait::cuda
