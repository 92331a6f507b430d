#include "gpu_worker/backends/cuda/cublaslt/product.h"

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu_worker/backends/cuda/problem/problem_shape.h"
#include "gpu_worker/backends/cuda/problem/reference_problem.h"

namespace plait::cuda {
namespace {

double Finish(cublasLtEpilogue_t epilogue, double value) {
  switch (epilogue) {
    case CUBLASLT_EPILOGUE_RELU:
    case CUBLASLT_EPILOGUE_RELU_BIAS:
      return value > 0 ? value : 0;
    case CUBLASLT_EPILOGUE_GELU:
    case CUBLASLT_EPILOGUE_GELU_BIAS:
      return 0.5 * value *
             (1 + std::tanh(std::sqrt(2 / M_PI) * (value + 0.044715 * value * value * value)));
    default:
      return value;
  }
}

bool AddsBias(cublasLtEpilogue_t epilogue) {
  return epilogue == CUBLASLT_EPILOGUE_BIAS || epilogue == CUBLASLT_EPILOGUE_RELU_BIAS ||
         epilogue == CUBLASLT_EPILOGUE_GELU_BIAS;
}

double Element(const ProductMatrix& matrix, const float* data, int64_t batch, int64_t row,
               int64_t column) {
  if (matrix.transposed) std::swap(row, column);
  return data[batch * matrix.batch_stride + column * matrix.leading + row];
}

// What cuBLASLt's documentation says that the call computes.
std::vector<float> Compute(const CublasLtProduct& product, const HostOperands& operands,
                           size_t output_size) {
  const auto data = [&](const ProductMatrix& matrix) {
    switch (matrix.operand) {
      case ProductOperand::kFirstInput:
        return operands.inputs[0].data();
      case ProductOperand::kSecondInput:
        return operands.inputs[1].data();
      case ProductOperand::kWeights:
        break;
    }
    return operands.weights.data();
  };
  const int64_t depth = product.a.transposed ? product.a.rows : product.a.columns;
  EXPECT_EQ(depth, product.b.transposed ? product.b.columns : product.b.rows);
  std::vector<float> output(output_size, NAN);
  for (int64_t batch = 0; batch < product.batch; ++batch) {
    for (int64_t column = 0; column < product.d.columns; ++column) {
      for (int64_t row = 0; row < product.d.rows; ++row) {
        const int64_t offset = batch * product.d.batch_stride + column * product.d.leading + row;
        double sum = 0;
        for (int64_t k = 0; k < depth; ++k) {
          sum += Element(product.a, data(product.a), batch, row, k) *
                 Element(product.b, data(product.b), batch, k, column);
        }
        if (product.residual) sum += operands.residual[offset];
        if (AddsBias(product.epilogue)) sum += operands.bias[row];
        output[offset] = static_cast<float>(Finish(product.epilogue, sum));
      }
    }
  }
  return output;
}

void ExpectEqualsReference(const Problem& problem, MemoryLayout layout) {
  const auto shape = ShapeOf(problem);
  ASSERT_TRUE(shape.ok()) << shape.error().message;
  const auto product = DescribeProduct(problem, Precision::kStrict, layout);
  ASSERT_TRUE(product.has_value());
  const HostOperands operands = MakeHostOperands(problem, shape.value(), Precision::kStrict, 7);
  const std::vector<float> output =
      Compute(*product, operands, static_cast<size_t>(shape.value().outputs[0]));
  const auto reference =
      ComputeReference(problem, shape.value(), layout, operands, int64_t{1} << 40, 1);
  EXPECT_EQ(reference.size(), output.size());
  const Difference difference = Compare(reference, {output});
  EXPECT_LT(difference.relative_l2, 1e-6);
  EXPECT_EQ(difference.not_numbers, 0);
}

TEST(CublasLtProductTest, IsTheTransposeOfEveryGemm) {
  for (int bits = 0; bits < 64; ++bits) {
    GemmProblem gemm;
    gemm.batch = (bits & 1) != 0 ? 3 : 1;
    gemm.m = 5;
    gemm.n = 7;
    gemm.k = 4;
    gemm.weights = (bits & 2) != 0;
    gemm.transpose_a = (bits & 4) != 0;
    gemm.transpose_b = (bits & 8) != 0;
    gemm.bias = (bits & 16) != 0;
    gemm.residual = (bits & 32) != 0;
    for (const auto activation : {Activation::kNone, Activation::kRelu, Activation::kGeluTanh}) {
      gemm.activation = activation;
      SCOPED_TRACE("case " + std::to_string(bits) + ", activation " +
                   std::to_string(static_cast<int>(activation)));
      ExpectEqualsReference(gemm, MemoryLayout::kNchw);
    }
  }
}

ConvProblem Pointwise() {
  ConvProblem conv;
  conv.n = 2;
  conv.c = 6;
  conv.h = 3;
  conv.w = 5;
  conv.k = 4;
  return conv;
}

TEST(CublasLtProductTest, IsAPointwiseConvolutionInBothLayouts) {
  for (const bool residual : {false, true}) {
    ConvProblem conv = Pointwise();
    conv.residual = residual;
    conv.activation = Activation::kRelu;
    ExpectEqualsReference(conv, MemoryLayout::kNchw);
    ExpectEqualsReference(conv, MemoryLayout::kNhwc);
    conv.bias = true;
    ExpectEqualsReference(conv, MemoryLayout::kNhwc);
    EXPECT_FALSE(DescribeProduct(conv, Precision::kFp16, MemoryLayout::kNchw).has_value());
  }
}

TEST(CublasLtProductTest, IsNoOtherConvolution) {
  const auto described = [](auto change) {
    ConvProblem conv = Pointwise();
    change(conv);
    return DescribeProduct(conv, Precision::kFp16, MemoryLayout::kNhwc).has_value();
  };
  EXPECT_TRUE(described([](ConvProblem&) {}));
  EXPECT_FALSE(described([](ConvProblem& conv) { conv.r = 3; }));
  EXPECT_FALSE(described([](ConvProblem& conv) { conv.stride = {2, 2}; }));
  EXPECT_FALSE(described([](ConvProblem& conv) { conv.pad = {0, 0, 0, 1}; }));
  EXPECT_FALSE(described([](ConvProblem& conv) { conv.groups = 2; }));
  EXPECT_FALSE(described([](ConvProblem& conv) { conv.prologue_relu = true; }));
}

TEST(CublasLtProductTest, HasOnlyTheActivationsOfAnEpilogue) {
  for (const auto activation : {Activation::kGelu, Activation::kRelu6, Activation::kSilu,
                                Activation::kSigmoid, Activation::kTanh}) {
    GemmProblem gemm;
    gemm.activation = activation;
    EXPECT_FALSE(DescribeProduct(gemm, Precision::kFp16, MemoryLayout::kNchw).has_value())
        << static_cast<int>(activation);
  }
}

TEST(CublasLtProductTest, TakesTypesFromThePrecision) {
  const auto described = [](Precision precision) {
    return *DescribeProduct(GemmProblem(), precision, MemoryLayout::kNchw);
  };
  EXPECT_EQ(described(Precision::kStrict).type, CUDA_R_32F);
  EXPECT_EQ(described(Precision::kStrict).compute, CUBLAS_COMPUTE_32F);
  EXPECT_EQ(described(Precision::kTf32).type, CUDA_R_32F);
  EXPECT_EQ(described(Precision::kTf32).compute, CUBLAS_COMPUTE_32F_FAST_TF32);
  EXPECT_EQ(described(Precision::kFp16).type, CUDA_R_16F);
  EXPECT_EQ(described(Precision::kFp16).compute, CUBLAS_COMPUTE_32F);
  EXPECT_EQ(described(Precision::kBf16).type, CUDA_R_16BF);
  EXPECT_EQ(described(Precision::kBf16).compute, CUBLAS_COMPUTE_32F);
}

}  // namespace
}  // namespace plait::cuda
