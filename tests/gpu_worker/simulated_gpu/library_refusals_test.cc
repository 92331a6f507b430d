#include <cstring>

#include "gpu_worker/backends/cuda/cublaslt/source.h"
#include "gpu_worker/backends/cuda/cudnn/source.h"
#include "gpu_worker/simulated_gpu/cublaslt/cublaslt_table.h"
#include "gpu_worker/simulated_gpu/cudnn/cudnn_state.h"
#include "gpu_worker/simulated_gpu/cudnn/cudnn_table.h"
#include "gpu_worker/simulated_gpu/cudnn/engine_list.h"
#include "gpu_worker/simulated_gpu/cudnn/real_library.h"
#include "gtest/gtest.h"
#include "tests/gpu_worker/simulated_gpu/cudnn_mistakes.h"
#include "tests/gpu_worker/simulated_gpu/library_fixture.h"

// Wrong uses of the libraries.

namespace plait::simulated_gpu {
namespace {

TEST(CudnnMistakeTest, IsRefusedWithTheStatusThatCudnnHasForIt) {
  LibraryFixture fixture;
  const int before = LiveCudnnDescriptors();
  int compared = 0;
  for (const CudnnMistake& mistake : CudnnMistakes()) {
    const cudnnStatus_t status = mistake.make(SimulatedCudnn());
    EXPECT_NE(status, CUDNN_STATUS_SUCCESS) << mistake.name;
    if (RealCudnn() == nullptr || mistake.ends_cudnn) continue;
    const cudnnStatus_t real = mistake.make(*RealCudnn());
    // What goes well by luck is refused all the same.
    if (real == CUDNN_STATUS_SUCCESS) continue;
    EXPECT_EQ(status, real) << mistake.name;
    ++compared;
  }
  EXPECT_GE(compared, RealCudnn() == nullptr ? 0 : 30);
  EXPECT_EQ(LiveCudnnDescriptors(), before);
}

TEST(CudnnTableTest, NeedsADriverAndAContextForAHandle) {
  const cuda::CudnnLibrary& library = SimulatedCudnn();
  cudnnHandle_t handle = nullptr;
  EXPECT_EQ(library.create(&handle), CUDNN_STATUS_NOT_INITIALIZED) << "there is no driver";
  SimulatedDriver driver;
  EXPECT_EQ(library.create(&handle), CUDNN_STATUS_NOT_INITIALIZED) << "there is no context";
  cuda::DriverRuntime runtime(0, &driver.library());
  ASSERT_TRUE(runtime.Describe().ok());
  EXPECT_EQ(library.create(&handle), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(library.set_stream(handle, reinterpret_cast<cudaStream_t>(12345)),
            CUDNN_STATUS_BAD_PARAM_STREAM_MISMATCH);
}

// The executions of one finalized plan by the table itself.
class ExecutionTest : public testing::Test {
 protected:
  // A rectifier of 64 numbers, tensors 1 and 2.
  void SetUp() override {
    const cuda::CudnnLibrary& library = SimulatedCudnn();
    ASSERT_EQ(library.create(&handle_), CUDNN_STATUS_SUCCESS);
    ASSERT_EQ(library.set_stream(handle_, fixture_.stream()), CUDNN_STATUS_SUCCESS);
    const auto set = [&](cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                         cudnnBackendAttributeType_t type, const auto& value) {
      ASSERT_EQ(library.set_attribute(descriptor, name, type, 1, &value), CUDNN_STATUS_SUCCESS);
    };
    for (int64_t id = 1; id <= 2; ++id) {
      tensors_[id - 1] = Make(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
      const int64_t sizes[] = {1, 16, 2, 2}, strides[] = {64, 1, 32, 16};
      set(tensors_[id - 1], CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
      library.set_attribute(tensors_[id - 1], CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4,
                            sizes);
      library.set_attribute(tensors_[id - 1], CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4,
                            strides);
      set(tensors_[id - 1], CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, id);
      set(tensors_[id - 1], CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, int64_t{16});
      Finalize(tensors_[id - 1]);
    }
    const cudnnBackendDescriptor_t relu = Make(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    set(relu, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, CUDNN_POINTWISE_RELU_FWD);
    set(relu, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
    Finalize(relu);
    const cudnnBackendDescriptor_t operation = Make(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    const auto part = CUDNN_TYPE_BACKEND_DESCRIPTOR;
    set(operation, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, part, relu);
    set(operation, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, part, tensors_[0]);
    set(operation, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, part, tensors_[1]);
    Finalize(operation);
    graph_ = Make(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    set(graph_, CUDNN_ATTR_OPERATIONGRAPH_OPS, part, operation);
    set(graph_, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, handle_);
    Finalize(graph_);
    const cudnnBackendDescriptor_t heuristic = Make(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    set(heuristic, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, part, graph_);
    set(heuristic, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, CUDNN_HEUR_MODE_A);
    Finalize(heuristic);
    cudnnBackendDescriptor_t config = Make(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    int64_t count = 0;
    ASSERT_EQ(
        library.get_attribute(heuristic, CUDNN_ATTR_ENGINEHEUR_RESULTS, part, 1, &count, &config),
        CUDNN_STATUS_SUCCESS);
    ASSERT_GE(count, 1);
    plan_ = Make(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    set(plan_, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, part, config);
    set(plan_, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, handle_);
    Finalize(plan_);
  }
  void TearDown() override {
    for (auto made = made_.rbegin(); made != made_.rend(); ++made) {
      SimulatedCudnn().destroy_descriptor(*made);
    }
  }

  cudnnBackendDescriptor_t Make(cudnnBackendDescriptorType_t type) {
    cudnnBackendDescriptor_t made = nullptr;
    EXPECT_EQ(SimulatedCudnn().create_descriptor(type, &made), CUDNN_STATUS_SUCCESS);
    made_.push_back(made);
    return made;
  }
  void Finalize(cudnnBackendDescriptor_t descriptor) {
    ASSERT_EQ(SimulatedCudnn().finalize(descriptor), CUDNN_STATUS_SUCCESS);
  }
  cudnnStatus_t Execute(std::vector<int64_t> ids, std::vector<void*> pointers) {
    const cuda::CudnnLibrary& library = SimulatedCudnn();
    const cudnnBackendDescriptor_t pack = Make(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    library.set_attribute(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64,
                          static_cast<int64_t>(ids.size()), ids.data());
    library.set_attribute(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
                          static_cast<int64_t>(pointers.size()), pointers.data());
    Finalize(pack);
    return library.execute(handle_, plan_, pack);
  }

  LibraryFixture fixture_;
  cudnnHandle_t handle_ = nullptr;
  cudnnBackendDescriptor_t tensors_[2] = {};
  cudnnBackendDescriptor_t graph_ = nullptr;
  cudnnBackendDescriptor_t plan_ = nullptr;
  std::vector<cudnnBackendDescriptor_t> made_;
};

TEST_F(ExecutionTest, WantsAllTensorsAlignedAsWasTold) {
  auto* x = static_cast<char*>(fixture_.Allocate(512));
  auto* y = static_cast<char*>(fixture_.Allocate(512));
  ASSERT_TRUE(fixture_.runtime().Fill(x, 0, 512, fixture_.stream()).ok());
  EXPECT_EQ(Execute({1}, {x}), CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
  EXPECT_EQ(Execute({1, 2}, {x, nullptr}), CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
  EXPECT_EQ(Execute({1, 2}, {x + 4, y}), CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER);
  EXPECT_EQ(Execute({1, 2}, {x + 16, y}), CUDNN_STATUS_SUCCESS);
  EXPECT_TRUE(fixture_.runtime().Synchronize(fixture_.stream()).ok());
}

TEST_F(ExecutionTest, WantsWhatThePlanRefersTo) {
  void* x = fixture_.Allocate(512);
  void* y = fixture_.Allocate(512);
  ASSERT_TRUE(fixture_.runtime().Fill(x, 0, 512, fixture_.stream()).ok());
  ASSERT_EQ(Execute({1, 2}, {x, y}), CUDNN_STATUS_SUCCESS);
  std::erase(made_, tensors_[0]);
  ASSERT_EQ(SimulatedCudnn().destroy_descriptor(tensors_[0]), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(Execute({1, 2}, {x, y}), CUDNN_STATUS_BAD_PARAM);
}

// cuDNN but for the notes of engines, which it cannot read.
cudnnStatus_t GetAllButNotes(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                             cudnnBackendAttributeType_t type, int64_t room, int64_t* count,
                             void* values) {
  if (name == CUDNN_ATTR_ENGINE_NUMERICAL_NOTE) return CUDNN_STATUS_INTERNAL_ERROR;
  return RealCudnn()->get_attribute(descriptor, name, type, room, count, values);
}

// An engine without notes would pass for one that computes strictly.
TEST_F(ExecutionTest, NotesThatCudnnCannotReadAreNotNone) {
  if (RealCudnn() == nullptr) GTEST_SKIP() << "there is no cuDNN";
  const cudnnBackendDescriptor_t device = Make(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  const int32_t number = 0;
  SimulatedCudnn().set_attribute(device, CUDNN_ATTR_DEVICEPROP_DEVICE_ID, CUDNN_TYPE_INT32, 1,
                                 &number);
  Finalize(device);
  const std::string json = (*TheCudnn().descriptors.Find(device))->json;
  for (const bool can_read : {true, false}) {
    cuda::CudnnLibrary library = *RealCudnn();
    if (!can_read) library.get_attribute = &GetAllButNotes;
    MirroredGraph mirrored(&library);
    ASSERT_TRUE(mirrored.Mirror(**TheCudnn().descriptors.Find(graph_)).ok());
    std::vector<CudnnEngine> engines;
    const CudnnVerdict verdict = mirrored.List(CUDNN_HEUR_MODE_A, json, &engines);
    EXPECT_EQ(verdict.status, can_read ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_INTERNAL_ERROR);
    EXPECT_EQ(engines.empty(), !can_read);
  }
}

// What an algorithm is told and what it is then given.
class CublasLtTableTest : public testing::Test {
 protected:
  void SetUp() override {
    const cuda::CublasLtLibrary& library = SimulatedCublasLt();
    ASSERT_EQ(library.create(&handle_), CUBLAS_STATUS_SUCCESS);
    ASSERT_EQ(library.matmul_create(&operation_, CUBLAS_COMPUTE_32F, CUDA_R_32F),
              CUBLAS_STATUS_SUCCESS);
    ASSERT_EQ(library.layout_create(&layout_, CUDA_R_32F, 128, 128, 128), CUBLAS_STATUS_SUCCESS);
    ASSERT_EQ(library.preference_create(&preference_), CUBLAS_STATUS_SUCCESS);
    memory_ = static_cast<char*>(fixture_.Allocate(4 * kBytes));
    ASSERT_TRUE(fixture_.runtime().Fill(memory_, 0, 4 * kBytes, fixture_.stream()).ok());
  }
  void TearDown() override {
    const cuda::CublasLtLibrary& library = SimulatedCublasLt();
    library.matmul_destroy(operation_);
    library.layout_destroy(layout_);
    library.preference_destroy(preference_);
  }

  std::vector<cublasLtMatmulHeuristicResult_t> List() {
    std::vector<cublasLtMatmulHeuristicResult_t> results(16);
    int count = 0;
    list_status_ =
        SimulatedCublasLt().get_heuristic(handle_, operation_, layout_, layout_, layout_, layout_,
                                          preference_, 16, results.data(), &count);
    results.resize(static_cast<size_t>(count));
    return results;
  }
  void Align(uint32_t bytes) {
    for (int i = CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES;
         i <= CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES; ++i) {
      ASSERT_EQ(SimulatedCublasLt().preference_set(
                    preference_, static_cast<cublasLtMatmulPreferenceAttributes_t>(i), &bytes,
                    sizeof(bytes)),
                CUBLAS_STATUS_SUCCESS);
    }
  }
  // With a that many bytes behind where it is aligned well.
  cublasStatus_t Multiply(const cublasLtMatmulAlgo_t& algorithm, size_t shift,
                          size_t workspace_bytes = 0) {
    const float one = 1, zero = 0;
    char* d = memory_ + 2 * kBytes;
    return SimulatedCublasLt().matmul(
        handle_, operation_, &one, memory_ + shift, layout_, memory_ + kBytes, layout_, &zero, d,
        layout_, d, layout_, &algorithm, memory_ + 3 * kBytes, workspace_bytes, fixture_.stream());
  }

  static constexpr size_t kBytes = 128 * 128 * 4 + 256;
  LibraryFixture fixture_;
  cublasLtHandle_t handle_ = nullptr;
  cublasLtMatmulDesc_t operation_ = nullptr;
  cublasLtMatrixLayout_t layout_ = nullptr;
  cublasLtMatmulPreference_t preference_ = nullptr;
  char* memory_ = nullptr;
  cublasStatus_t list_status_ = CUBLAS_STATUS_SUCCESS;
};

TEST_F(CublasLtTableTest, AnAlgorithmThatWantsAlignmentRefusesOtherAddresses) {
  const auto well = List();
  ASSERT_FALSE(well.empty());
  EXPECT_EQ(Multiply(well[0].algo, 4), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(Multiply(well[0].algo, 16), CUBLAS_STATUS_SUCCESS);
  Align(4);
  const auto badly = List();
  ASSERT_FALSE(badly.empty());
  EXPECT_LT(badly.size(), well.size());
  EXPECT_EQ(Multiply(badly[0].algo, 4), CUBLAS_STATUS_SUCCESS);
  Align(2);
  EXPECT_TRUE(List().empty());
  EXPECT_EQ(list_status_, CUBLAS_STATUS_NOT_SUPPORTED);
}

TEST_F(CublasLtTableTest, ASplitSumNeedsItsWorkspace) {
  auto algorithm = List().at(0).algo;
  const int32_t parts = 2;
  const uint32_t scheme = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  const cuda::CublasLtLibrary& library = SimulatedCublasLt();
  ASSERT_EQ(library.algo_set(&algorithm, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, &parts, sizeof(parts)),
            CUBLAS_STATUS_SUCCESS);
  cublasLtMatmulHeuristicResult_t result = {};
  const auto check = [&] {
    return library.algo_check(handle_, operation_, layout_, layout_, layout_, layout_, &algorithm,
                              &result);
  };
  EXPECT_EQ(check(), CUBLAS_STATUS_NOT_SUPPORTED) << "how are the parts added?";
  ASSERT_EQ(
      library.algo_set(&algorithm, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, &scheme, sizeof(scheme)),
      CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(check(), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(result.workspaceSize, size_t{2} * 128 * 128 * 4);
  EXPECT_EQ(result.algo.data[0], 0U) << "the library leaves that to the caller";
  EXPECT_EQ(Multiply(algorithm, 0, result.workspaceSize - 1), CUBLAS_STATUS_INVALID_VALUE);
}

TEST_F(CublasLtTableTest, WrongDescriptorsAreRefused) {
  const cuda::CublasLtLibrary& library = SimulatedCublasLt();
  const int64_t wide = CUBLAS_OP_T;
  EXPECT_EQ(library.matmul_set(operation_, CUBLASLT_MATMUL_DESC_TRANSA, &wide, sizeof(wide)),
            CUBLAS_STATUS_INVALID_VALUE);
  const uint32_t bias = CUBLASLT_EPILOGUE_BIAS;
  ASSERT_EQ(library.matmul_set(operation_, CUBLASLT_MATMUL_DESC_EPILOGUE, &bias, sizeof(bias)),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_TRUE(List().empty());
  EXPECT_EQ(list_status_, CUBLAS_STATUS_INVALID_VALUE) << "no bias was given";
  const uint32_t aux = CUBLASLT_EPILOGUE_RELU_AUX;
  ASSERT_EQ(library.matmul_set(operation_, CUBLASLT_MATMUL_DESC_EPILOGUE, &aux, sizeof(aux)),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_TRUE(List().empty());
  EXPECT_EQ(list_status_, CUBLAS_STATUS_NOT_SUPPORTED);
  cublasLtMatrixLayout_t gone = nullptr;
  ASSERT_EQ(library.layout_create(&gone, CUDA_R_32F, 8, 8, 8), CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(library.layout_destroy(gone), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(library.layout_destroy(gone), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(library.layout_set(gone, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &bias, sizeof(bias)),
            CUBLAS_STATUS_INVALID_VALUE);
  const cublasLtMatmulAlgo_t nonsense = {};
  EXPECT_EQ(Multiply(nonsense, 0), CUBLAS_STATUS_NOT_SUPPORTED) << "the epilogue comes first";
}

}  // namespace
}  // namespace plait::simulated_gpu
