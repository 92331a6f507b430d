#include <array>
#include <atomic>
#include <thread>

#include "gpu_worker/backends/cuda/cublaslt/source.h"
#include "gpu_worker/backends/cuda/cudnn/source.h"
#include "gpu_worker/simulated_gpu/cublaslt/cublaslt_table.h"
#include "gpu_worker/simulated_gpu/cudnn/cudnn_table.h"
#include "gpu_worker/simulated_gpu/libraries/faults_from_text.h"
#include "gtest/gtest.h"
#include "tests/gpu_worker/simulated_gpu/library_fixture.h"

// Calls of the libraries that fail or hang.

namespace plait::simulated_gpu {
namespace {

// What a library says to the first call that fails; empty if none does.
using Words = std::string;

Words WordsOf(cudnnStatus_t status) {
  const cuda::CudnnLibrary& library = SimulatedCudnn();
  if (status == CUDNN_STATUS_SUCCESS) return "";
  std::array<char, 256> last = {};
  library.get_last_error_string(last.data(), last.size());
  return std::string(library.get_error_string(status)) + " " + last.data();
}

Words WordsOf(cublasStatus_t status) {
  return status == CUBLAS_STATUS_SUCCESS ? "" : SimulatedCublasLt().get_status_string(status);
}

#define PLAIT_RETURN_WORDS(expression)                       \
  do {                                                       \
    if (Words words = WordsOf(expression); !words.empty()) { \
      return words;                                          \
    }                                                        \
  } while (false)

// Calls every function that uses no plan.
Words UseCudnn(cuda::Stream stream) {
  const cuda::CudnnLibrary& library = SimulatedCudnn();
  cudnnHandle_t handle = nullptr;
  PLAIT_RETURN_WORDS(library.create(&handle));
  PLAIT_RETURN_WORDS(library.set_stream(handle, stream));
  cudnnBackendDescriptor_t device = nullptr;
  PLAIT_RETURN_WORDS(library.create_descriptor(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, &device));
  const int32_t number = 0;
  PLAIT_RETURN_WORDS(
      library.set_attribute(device, CUDNN_ATTR_DEVICEPROP_DEVICE_ID, CUDNN_TYPE_INT32, 1, &number));
  PLAIT_RETURN_WORDS(library.finalize(device));
  int64_t count = 0;
  PLAIT_RETURN_WORDS(library.get_attribute(device, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION,
                                           CUDNN_TYPE_CHAR, 0, &count, nullptr));
  return WordsOf(library.destroy_descriptor(device));
}

// Calls every function but the heuristic and what comes behind it.
Words UseCublasLt() {
  const cuda::CublasLtLibrary& library = SimulatedCublasLt();
  cublasLtHandle_t handle = nullptr;
  PLAIT_RETURN_WORDS(library.create(&handle));
  cublasLtMatmulDesc_t operation = nullptr;
  PLAIT_RETURN_WORDS(library.matmul_create(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  const int32_t transposed = CUBLAS_OP_T;
  PLAIT_RETURN_WORDS(
      library.matmul_set(operation, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof(transposed)));
  cublasLtMatrixLayout_t layout = nullptr;
  PLAIT_RETURN_WORDS(library.layout_create(&layout, CUDA_R_32F, 8, 8, 8));
  const int32_t batch = 1;
  PLAIT_RETURN_WORDS(
      library.layout_set(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof(batch)));
  cublasLtMatmulPreference_t preference = nullptr;
  PLAIT_RETURN_WORDS(library.preference_create(&preference));
  const uint64_t bytes = 0;
  PLAIT_RETURN_WORDS(library.preference_set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                            &bytes, sizeof(bytes)));
  cublasLtMatmulHeuristicResult_t result = {};
  int count = 0;
  PLAIT_RETURN_WORDS(library.get_heuristic(handle, operation, layout, layout, layout, layout,
                                           preference, 1, &result, &count));
  PLAIT_RETURN_WORDS(
      library.algo_check(handle, operation, layout, layout, layout, layout, &result.algo, &result));
  uint64_t flags = 0;
  size_t written = 0;
  PLAIT_RETURN_WORDS(library.algo_get_capability(
      &result.algo, CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS, &flags, sizeof(flags), &written));
  int32_t splits = 0;
  PLAIT_RETURN_WORDS(library.algo_get(&result.algo, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, &splits,
                                      sizeof(splits), &written));
  PLAIT_RETURN_WORDS(
      library.algo_set(&result.algo, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, &splits, sizeof(splits)));
  PLAIT_RETURN_WORDS(library.preference_destroy(preference));
  PLAIT_RETURN_WORDS(library.layout_destroy(layout));
  return WordsOf(library.matmul_destroy(operation));
}

std::vector<const char*> Functions() {
  std::vector<const char*> functions = {
#define PLAIT_CUDNN_FUNCTION(name, member, needs_context) #name,
#include "gpu_worker/simulated_gpu/cudnn/cudnn_functions.def"
#undef PLAIT_CUDNN_FUNCTION
#define PLAIT_CUBLASLT_FUNCTION(name, member, needs_context) #name,
#include "gpu_worker/simulated_gpu/cublaslt/cublaslt_functions.def"
#undef PLAIT_CUBLASLT_FUNCTION
  };
  // These return no status; launches are tested below.
  std::erase_if(functions, [](const std::string& name) {
    return name == "cudnnBackendExecute" || name == "cublasLtMatmul" ||
           name.find("Version") != std::string::npos || name.find("String") != std::string::npos;
  });
  return functions;
}

class LibraryFaultTest : public testing::TestWithParam<const char*> {
 protected:
  Words UseAll() {
    const Words words = UseCudnn(fixture_.stream());
    return words.empty() ? UseCublasLt() : words;
  }
  LibraryFixture fixture_;
};

TEST_P(LibraryFaultTest, IsToldByItsFunctionOnceAndIsOver) {
  for (const auto& [kind, code] : {std::pair(Fault::Kind::kError, "CUDA_ERROR_UNKNOWN"),
                                   {Fault::Kind::kOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY"}}) {
    fixture_.driver().faults().Add({GetParam(), kind});
    EXPECT_NE(UseAll().find(std::string(GetParam()) + ": " + code), std::string::npos);
    EXPECT_EQ(UseAll(), "") << "nothing is left of it";
  }
}

TEST_P(LibraryFaultTest, AStickyOneStaysWithTheDevice) {
  fixture_.driver().faults().Add({GetParam(), Fault::Kind::kSticky});
  EXPECT_NE(UseAll().find(std::string(GetParam()) + ": CUDA_ERROR_ILLEGAL_ADDRESS"),
            std::string::npos);
  EXPECT_NE(UseAll().find("CUDA_ERROR_ILLEGAL_ADDRESS"), std::string::npos);
  EXPECT_FALSE(fixture_.runtime().CheckHealth().ok());
}

INSTANTIATE_TEST_SUITE_P(Functions, LibraryFaultTest, testing::ValuesIn(Functions()),
                         [](const auto& info) { return std::string(info.param); });

struct LaunchFault {
  const cuda::CandidateSource* source;
  const char* function;
  LibraryCase problem;
};

std::vector<LaunchFault> LaunchFaults() {
  cuda::ConvProblem conv;
  conv.c = conv.k = 16;
  conv.h = conv.w = 4;
  return {{&cuda::kCudnnSource, "cudnnBackendExecute", {"conv", conv, cuda::Precision::kTf32}},
          {&cuda::kCublasLtSource,
           "cublasLtMatmul",
           {"gemm", cuda::GemmProblem{.m = 8, .n = 8, .k = 8}, cuda::Precision::kTf32}}};
}

TEST(LibraryLaunchFaultTest, IsACandidatesErrorThatNamesTheFunction) {
  for (const LaunchFault& launch : LaunchFaults()) {
    LibraryFixture fixture;
    const auto candidates = fixture.List(*launch.source, launch.problem);
    ASSERT_FALSE(candidates.empty());
    const LibraryOperands operands = fixture.Upload(launch.problem, 1 << 20);
    fixture.driver().faults().Add({launch.function, Fault::Kind::kError, 1});
    EXPECT_TRUE(fixture.Run(*candidates[0], launch.problem, operands).ok()) << "one goes well";
    const auto failed = fixture.Run(*candidates[0], launch.problem, operands);
    ASSERT_FALSE(failed.ok());
    EXPECT_EQ(failed.error().code, cuda::ErrorCode::kDevice) << failed.error().message;
    EXPECT_NE(failed.error().message.find(launch.function), std::string::npos)
        << failed.error().message;
    EXPECT_TRUE(fixture.Run(*candidates[0], launch.problem, operands).ok());
    fixture.driver().faults().Add({launch.function, Fault::Kind::kSticky});
    EXPECT_FALSE(fixture.Run(*candidates[0], launch.problem, operands).ok());
    EXPECT_FALSE(fixture.runtime().CheckHealth().ok());
  }
}

// Where both heuristics fail, that is told, and not that there is nothing for the problem.
TEST(LibraryListFaultTest, IsAnErrorOfTheSource) {
  constexpr int kFinalizationsMax = 30;
  const LibraryCase problem = LaunchFaults()[0].problem;
  for (int before = 0; before < kFinalizationsMax; ++before) {
    LibraryFixture fixture;
    fixture.driver().faults().Add({"cudnnBackendFinalize", Fault::Kind::kError, before});
    fixture.driver().faults().Add({"cudnnBackendFinalize", Fault::Kind::kError});
    const auto listed = fixture.Ask(cuda::kCudnnSource, problem);
    EXPECT_FALSE(listed.ok() && listed.value().empty()) << before;
  }
}

TEST(LibraryLaunchFaultTest, AHangEndsWhenItIsTold) {
  for (const LaunchFault& launch : LaunchFaults()) {
    LibraryFixture fixture;
    fixture.driver().faults().Add({launch.function, Fault::Kind::kHang});
    const auto candidates = fixture.List(*launch.source, launch.problem);
    const LibraryOperands operands = fixture.Upload(launch.problem, 1 << 20);
    std::atomic<bool> has_hung = false;
    std::thread other([&] {
      while (fixture.driver().faults().hanging() == 0) std::this_thread::yield();
      has_hung = true;
      fixture.driver().faults().StopHanging();
    });
    EXPECT_TRUE(fixture.Run(*candidates[0], launch.problem, operands).ok());
    other.join();
    EXPECT_TRUE(has_hung);
  }
}

TEST(FaultsFromTextTest, AreAFunctionAKindAndACount) {
  const auto faults = FaultsFromText("cudnnBackendExecute:error:3,cuMemAlloc:memory");
  ASSERT_TRUE(faults.ok());
  ASSERT_EQ(faults->size(), 2U);
  EXPECT_EQ((*faults)[0].function, "cudnnBackendExecute");
  EXPECT_EQ((*faults)[0].calls_before, 3);
  EXPECT_EQ((*faults)[1].kind, Fault::Kind::kOutOfMemory);
  EXPECT_TRUE(FaultsFromText("").value().empty());
  for (const char* wrong : {"cuInit", "cuInit:often", ":error", "cuInit:error:-1", "a:error:1:2"}) {
    EXPECT_FALSE(FaultsFromText(wrong).ok()) << wrong;
  }
}

}  // namespace
}  // namespace plait::simulated_gpu
