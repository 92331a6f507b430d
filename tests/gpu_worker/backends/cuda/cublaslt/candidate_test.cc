#include "gpu_worker/backends/cuda/cublaslt/candidate.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu_worker/backends/cuda/cublaslt/source.h"
#include "gpu_worker/backends/cuda/run/device_description.h"
#include "tests/gpu_worker/backends/cuda/cublaslt/fake_library.h"
#include "tests/gpu_worker/backends/cuda/cudnn/test_cases.h"

namespace plait::cuda {
namespace {

using Candidates = std::vector<std::unique_ptr<Candidate>>;

constexpr uint64_t kTensorCore =
    CUBLASLT_NUMERICAL_IMPL_FLAGS_HMMA | CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_TF32;

GemmProblem Gemm() {
  GemmProblem gemm;
  gemm.m = 128;
  gemm.n = 768;
  gemm.k = 3072;
  gemm.bias = true;
  gemm.residual = true;
  return gemm;
}

class CublasLtCandidateTest : public testing::Test {
 protected:
  void SetUp() override { TheFakeCublasLt() = FakeCublasLt(); }
  void TearDown() override { EXPECT_TRUE(TheFakeCublasLt().alive.empty()) << "leaked"; }

  Candidates List(const Problem& problem, Precision precision = Precision::kFp16,
                  const OperandAlignment& alignment = {}) {
    const auto product = DescribeProduct(problem, precision, MemoryLayout::kNhwc);
    EXPECT_TRUE(product.has_value());
    const auto call = MakeCublasLtCall(library_, nullptr, *product, alignment);
    EXPECT_TRUE(call.ok());
    auto candidates = ListCublasLtCandidates(call.value(), precision);
    EXPECT_TRUE(candidates.ok()) << candidates.error().message;
    return candidates.ok() ? std::move(candidates).value() : Candidates();
  }

  const CublasLtLibrary library_ = FakeCublasLtLibrary();
};

TEST_F(CublasLtCandidateTest, DescribesMatricesOperationAndLimit) {
  TheFakeCublasLt().algorithms = {{.id = 66}};
  GemmProblem gemm = Gemm();
  gemm.activation = Activation::kGeluTanh;
  gemm.transpose_b = true;
  EXPECT_EQ(List(gemm).size(), 1U);
  const FakeCublasLt& fake = TheFakeCublasLt();
  EXPECT_EQ(fake.operation.at(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE), CUBLAS_COMPUTE_32F);
  EXPECT_EQ(fake.operation.at(CUBLASLT_MATMUL_DESC_SCALE_TYPE), CUDA_R_32F);
  EXPECT_EQ(fake.operation.at(CUBLASLT_MATMUL_DESC_TRANSA), CUBLAS_OP_T);
  EXPECT_EQ(fake.operation.at(CUBLASLT_MATMUL_DESC_TRANSB), CUBLAS_OP_N);
  EXPECT_EQ(fake.operation.at(CUBLASLT_MATMUL_DESC_EPILOGUE), CUBLASLT_EPILOGUE_GELU_BIAS);
  ASSERT_EQ(fake.biases.size(), 1U) << "the heuristic wants to see a bias";
  EXPECT_NE(fake.biases[0], nullptr);
  ASSERT_EQ(fake.layouts.size(), 3U);
  EXPECT_EQ(fake.layouts[0].at(CUBLASLT_MATRIX_LAYOUT_ROWS), 3072);
  EXPECT_EQ(fake.layouts[0].at(CUBLASLT_MATRIX_LAYOUT_COLS), 768);
  EXPECT_EQ(fake.layouts[1].at(CUBLASLT_MATRIX_LAYOUT_COLS), 128);
  EXPECT_EQ(fake.layouts[2].at(CUBLASLT_MATRIX_LAYOUT_LD), 768);
  EXPECT_EQ(fake.layouts[2].at(CUBLASLT_MATRIX_LAYOUT_TYPE), CUDA_R_16F);
  EXPECT_EQ(fake.layouts[2].count(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT), 0U);
  EXPECT_EQ(fake.workspace_bytes_max, uint64_t{32} << 20);
}

TEST_F(CublasLtCandidateTest, BatchesShareConstantWeights) {
  TheFakeCublasLt().algorithms = {{.id = 1}};
  GemmProblem gemm;
  gemm.batch = 12;
  gemm.m = 8;
  gemm.n = 16;
  gemm.k = 32;
  gemm.transpose_a = true;  // the batch cannot be folded into the rows
  EXPECT_EQ(List(gemm).size(), 1U);
  const FakeCublasLt& fake = TheFakeCublasLt();
  for (const auto& layout : fake.layouts) {
    EXPECT_EQ(layout.at(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT), 12);
  }
  EXPECT_EQ(fake.layouts[0].at(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET), 0);
  EXPECT_EQ(fake.layouts[1].at(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET), 8 * 32);
  EXPECT_EQ(fake.layouts[2].at(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET), 8 * 16);
}

TEST_F(CublasLtCandidateTest, ListsEachAlgorithmOnceInOrder) {
  TheFakeCublasLt().algorithms = {{.id = 66}, {.id = 21}, {.id = 66}, {.id = 8}};
  std::vector<std::string> names;
  for (const auto& candidate : List(Gemm())) names.push_back(candidate->name());
  const std::string rest = "/tile0,stages0,splitk1,reduction0,swizzle0,custom0,inner2,cluster2";
  EXPECT_EQ(names, (std::vector<std::string>{"cublaslt/algo66" + rest, "cublaslt/algo21" + rest,
                                             "cublaslt/algo8" + rest}));
}

TEST_F(CublasLtCandidateTest, SplitsSumsWhereMultiprocessorsAreIdle) {
  TheFakeCublasLt().algorithms = {{.id = 1, .can_split = true, .waves = 0.2F},
                                  {.id = 2, .can_split = true, .waves = 1.5F},
                                  {.id = 3, .can_split = false, .waves = 0.2F}};
  GemmProblem gemm = Gemm();
  gemm.k = 512;  // eight parts of 64
  std::vector<std::string> splits;
  for (const auto& candidate : List(gemm)) {
    const std::vector<std::string> notes = candidate->notes();
    if (std::find(notes.begin(), notes.end(), "split_k") == notes.end()) continue;
    splits.push_back(candidate->name().substr(0, candidate->name().find(",swizzle")));
    EXPECT_GT(candidate->workspace_bytes(), 0U);
  }
  EXPECT_EQ(splits, (std::vector<std::string>{"cublaslt/algo1/tile0,stages0,splitk2,reduction2",
                                              "cublaslt/algo1/tile0,stages0,splitk3,reduction2",
                                              "cublaslt/algo1/tile0,stages0,splitk4,reduction2",
                                              "cublaslt/algo1/tile0,stages0,splitk6,reduction2",
                                              "cublaslt/algo1/tile0,stages0,splitk8,reduction2"}));
}

TEST_F(CublasLtCandidateTest, StrictLeavesOutTensorCores) {
  TheFakeCublasLt().algorithms = {{.id = 1, .numerical_flags = kTensorCore}, {.id = 2}};
  const Candidates strict = List(Gemm(), Precision::kStrict);
  ASSERT_EQ(strict.size(), 1U);
  EXPECT_EQ(strict[0]->name().find("cublaslt/algo2/"), 0U);
  EXPECT_TRUE(strict[0]->notes().empty());
  const Candidates tf32 = List(Gemm(), Precision::kTf32);
  ASSERT_EQ(tf32.size(), 2U);
  EXPECT_EQ(tf32[0]->notes(), (std::vector<std::string>{"tensor_core", "down_convert_inputs"}));
}

TEST_F(CublasLtCandidateTest, SumsAreInFp32) {
  constexpr uint64_t kHalfSums = CUBLASLT_NUMERICAL_IMPL_FLAGS_HMMA |
                                 CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_16F |
                                 CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_16F;
  constexpr uint64_t kFloatSums = CUBLASLT_NUMERICAL_IMPL_FLAGS_HMMA |
                                  CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_16F |
                                  CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_32F;
  TheFakeCublasLt().algorithms = {{.id = 1, .numerical_flags = kHalfSums},
                                  {.id = 2, .numerical_flags = kFloatSums},
                                  {.id = 3,
                                   .numerical_flags = kFloatSums,
                                   .splits = 4,
                                   .scheme = CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE},
                                  {.id = 4,
                                   .numerical_flags = kFloatSums,
                                   .splits = 4,
                                   .scheme = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE}};
  const Candidates candidates = List(Gemm(), Precision::kFp16);
  ASSERT_EQ(candidates.size(), 2U);
  EXPECT_EQ(candidates[0]->name().find("cublaslt/algo2/"), 0U);
  EXPECT_EQ(candidates[0]->notes(), std::vector<std::string>{"tensor_core"});
  EXPECT_EQ(candidates[1]->name().find("cublaslt/algo4/"), 0U);
}

TEST_F(CublasLtCandidateTest, StrictLeavesOutWhatNobodyKnows) {
  constexpr uint64_t kNewFlag = CUBLASLT_NUMERICAL_IMPL_FLAGS_FMA | (uint64_t{1} << 40);
  TheFakeCublasLt().algorithms = {{.id = 1, .numerical_flags = kNewFlag},
                                  {.id = 2, .numerical_flags = 0}};
  EXPECT_TRUE(List(Gemm(), Precision::kStrict).empty());
  EXPECT_EQ(List(Gemm(), Precision::kTf32).size(), 2U);
}

TEST_F(CublasLtCandidateTest, NoAlgorithmIsAnEmptyListAndAFailureAnError) {
  TheFakeCublasLt().heuristic_status = CUBLAS_STATUS_NOT_SUPPORTED;
  EXPECT_TRUE(List(Gemm()).empty());
  TheFakeCublasLt().heuristic_status = CUBLAS_STATUS_INTERNAL_ERROR;
  const auto product = DescribeProduct(Gemm(), Precision::kFp16, MemoryLayout::kNchw);
  const auto call = MakeCublasLtCall(library_, nullptr, *product, {});
  ASSERT_TRUE(call.ok());
  const auto candidates = ListCublasLtCandidates(call.value(), Precision::kFp16);
  ASSERT_FALSE(candidates.ok());
  EXPECT_EQ(candidates.error().message, "cublasLtMatmulAlgoGetHeuristic: a fake status");
}

TEST_F(CublasLtCandidateTest, LaunchesWithItsOperands) {
  TheFakeCublasLt().algorithms = {{.id = 5, .workspace_bytes = 4096}};
  Candidates candidates = List(Gemm());
  ASSERT_EQ(candidates.size(), 1U);
  ASSERT_TRUE(candidates[0]->Prepare().ok());
  EXPECT_EQ(candidates[0]->workspace_bytes(), 4096U);
  alignas(kDeviceAlignmentBytes) char memory[6][kDeviceAlignmentBytes] = {};
  Operands operands;
  operands.inputs = {&memory[0]};
  operands.weights = &memory[1];
  operands.bias = &memory[2];
  operands.residual = &memory[3];
  operands.outputs = {&memory[4]};
  EXPECT_FALSE(candidates[0]->Launch(operands, nullptr).ok()) << "no workspace";
  operands.workspace = &memory[5];
  const Status status = candidates[0]->Launch(operands, nullptr);
  ASSERT_TRUE(status.ok()) << status.error().message;
  const FakeCublasLt& fake = TheFakeCublasLt();
  ASSERT_EQ(fake.launches.size(), 1U);
  const FakeCublasLt::Launch& launch = fake.launches[0];
  EXPECT_EQ(launch.algorithm, 5U);
  EXPECT_EQ(launch.alpha, 1.0F);
  EXPECT_EQ(launch.beta, 1.0F);
  EXPECT_EQ(launch.a, operands.weights) << "operands are swapped";
  EXPECT_EQ(launch.b, operands.inputs[0]);
  EXPECT_EQ(launch.c, operands.residual);
  EXPECT_EQ(launch.d, operands.outputs[0]);
  EXPECT_EQ(launch.workspace, operands.workspace);
  EXPECT_EQ(launch.workspace_bytes, 4096U);
  EXPECT_EQ(fake.biases.back(), operands.bias);
  operands.residual = nullptr;
  EXPECT_FALSE(candidates[0]->Launch(operands, nullptr).ok()) << "no residual";
}

TEST_F(CublasLtCandidateTest, ListsWhatWorksWithTheOperandsAlignment) {
  TheFakeCublasLt().algorithms = {{.id = 1, .alignment = 128}, {.id = 2, .alignment = 4}};
  EXPECT_EQ(List(Gemm()).size(), 2U);
  // A slice of another tensor that is read where it lies.
  const OperandAlignment alignment{.inputs = 4, .weights = 64, .residual = 32, .outputs = 128};
  const Candidates narrow = List(Gemm(), Precision::kStrict, alignment);
  ASSERT_EQ(narrow.size(), 1U);
  EXPECT_EQ(narrow[0]->name().find("cublaslt/algo2/"), 0U);
  const std::map<int, uint32_t> told = {{CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, 64},
                                        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, 4},
                                        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, 32},
                                        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, 128}};
  EXPECT_EQ(TheFakeCublasLt().alignments, told) << "a is what a problem calls its weights";
}

TEST_F(CublasLtCandidateTest, RefusesOperandsThatAreNotAlignedAsWasTold) {
  TheFakeCublasLt().algorithms = {{.id = 5, .workspace_bytes = 4096}};
  const OperandAlignment alignment{.inputs = 16, .weights = 16, .residual = 16, .outputs = 16};
  Candidates candidates = List(Gemm(), Precision::kFp16, alignment);
  ASSERT_EQ(candidates.size(), 1U);
  alignas(kDeviceAlignmentBytes) static char memory[6][kDeviceAlignmentBytes];
  const auto launch = [&](int crooked, int bytes) {
    const auto at = [&](int i) { return &memory[i][i == crooked ? bytes : 0]; };
    Operands operands;
    operands.inputs = {at(0)};
    operands.weights = at(1);
    operands.bias = at(2);
    operands.residual = at(3);
    operands.outputs = {at(4)};
    operands.workspace = at(5);
    return candidates[0]->Launch(operands, nullptr);
  };
  EXPECT_TRUE(launch(0, 16).ok()) << "as was told";
  for (int operand = 0; operand < 6; ++operand) {
    const Status status = launch(operand, 8);
    ASSERT_FALSE(status.ok()) << operand;
    EXPECT_EQ(status.error().code, ErrorCode::kInvalid);
  }
  EXPECT_FALSE(launch(5, 128).ok()) << "a workspace has the whole alignment";
  EXPECT_EQ(TheFakeCublasLt().launches.size(), 1U);
}

TEST_F(CublasLtCandidateTest, WithoutAResidualTheOutputIsNotRead) {
  TheFakeCublasLt().algorithms = {{.id = 5}};
  GemmProblem gemm = Gemm();
  gemm.residual = false;
  gemm.bias = false;
  gemm.weights = false;
  Candidates candidates = List(gemm);
  ASSERT_EQ(candidates.size(), 1U);
  alignas(kDeviceAlignmentBytes) char memory[3][kDeviceAlignmentBytes] = {};
  Operands operands;
  operands.inputs = {&memory[0], &memory[1]};
  operands.outputs = {&memory[2]};
  ASSERT_TRUE(candidates[0]->Launch(operands, nullptr).ok());
  const FakeCublasLt::Launch& launch = TheFakeCublasLt().launches.at(0);
  EXPECT_EQ(launch.beta, 0.0F);
  EXPECT_EQ(launch.a, operands.inputs[1]);
  EXPECT_EQ(launch.b, operands.inputs[0]);
  EXPECT_TRUE(TheFakeCublasLt().biases.empty());
}

TEST(CublasLtLibraryTest, AcceptsTheDescriptorsOfEveryProduct) {
  // The library checks names, sizes and values of attributes without a device.
  const auto library = CublasLtLibrary::Get();
  ASSERT_TRUE(library.ok()) << library.error().message;
  for (const auto precision :
       {Precision::kStrict, Precision::kTf32, Precision::kFp16, Precision::kBf16}) {
    for (const int64_t batch : {1, 12}) {
      GemmProblem gemm = Gemm();
      gemm.batch = batch;
      gemm.transpose_a = true;
      gemm.activation = Activation::kGeluTanh;
      const auto product = DescribeProduct(gemm, precision, MemoryLayout::kNchw);
      ASSERT_TRUE(product.has_value());
      const auto call = MakeCublasLtCall(*library.value(), nullptr, *product, {});
      EXPECT_TRUE(call.ok()) << call.error().message;
    }
  }
}

TEST(CublasLtSourceTest, SaysThatItNeedsADevice) {
  const auto candidates = kCublasLtSource.enumerate(Gemm(), Precision::kFp16, MemoryLayout::kNchw,
                                                    OperandPlaces(), DescribeH200());
  ASSERT_FALSE(candidates.ok());
  EXPECT_EQ(candidates.error().code, ErrorCode::kUnavailable);
  CudaDevice claimed = DescribeH200();
  claimed.present = true;
  const auto listed = kCublasLtSource.enumerate(Gemm(), Precision::kFp16, MemoryLayout::kNchw,
                                                OperandPlaces(), claimed);
  if (listed.ok()) {
    EXPECT_FALSE(listed.value().empty()) << "there is a device";
  } else {
    EXPECT_EQ(listed.error().code, ErrorCode::kUnavailable) << listed.error().message;
  }
}

// The library takes the alignment of the bias from its address.
TEST_F(CublasLtCandidateTest, ListsForTheAlignmentOfTheBias) {
  TheFakeCublasLt().algorithms = {{.id = 66}};
  for (const int64_t bytes : {16, 64, 256, 4096}) {
    TheFakeCublasLt().biases.clear();
    EXPECT_EQ(List(Gemm(), Precision::kFp16, {.bias = bytes}).size(), 1U);
    ASSERT_EQ(TheFakeCublasLt().biases.size(), 1U);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(TheFakeCublasLt().biases[0]),
              static_cast<uintptr_t>(std::min(bytes, kDeviceAlignmentBytes)));
  }
}

TEST(CublasLtSourceTest, HasNoEpilogueForABiasOfLessThan16Bytes) {
  const auto list = [](const OperandAlignment& alignment) {
    return kCublasLtSource.enumerate(Gemm(), Precision::kFp16, MemoryLayout::kNchw,
                                     {.alignment = alignment}, DescribeH200());
  };
  const auto narrow = list({.bias = 8});
  ASSERT_TRUE(narrow.ok());
  EXPECT_TRUE(narrow.value().empty());
  EXPECT_FALSE(list({}).ok()) << "else it asks for a device";
  for (const int64_t bytes : {0, 1, 3, -16, 48}) {
    const auto refused = list({.outputs = bytes});
    ASSERT_FALSE(refused.ok()) << bytes;
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalid);
  }
}

TEST(CublasLtSourceTest, KnowsNothingBesideProducts) {
  for (const char* name : {"conv", "attention", "max_pool", "softmax", "matmul_bias_gelu"}) {
    const auto candidates =
        kCublasLtSource.enumerate(CudnnCaseProblem(name), Precision::kFp16, MemoryLayout::kNhwc,
                                  OperandPlaces(), DescribeH200());
    ASSERT_TRUE(candidates.ok()) << name << ": " << candidates.error().message;
    EXPECT_TRUE(candidates.value().empty()) << name;
  }
}

TEST(CublasLtSourceTest, RefusesHostileProblems) {
  for (const CudnnCase& hostile : HostileProblems()) {
    const auto candidates = kCublasLtSource.enumerate(
        hostile.problem, Precision::kFp16, MemoryLayout::kNhwc, OperandPlaces(), DescribeH200());
    ASSERT_FALSE(candidates.ok()) << hostile.name;
    EXPECT_EQ(candidates.error().code, ErrorCode::kInvalid) << hostile.name;
  }
}

}  // namespace
}  // namespace plait::cuda
