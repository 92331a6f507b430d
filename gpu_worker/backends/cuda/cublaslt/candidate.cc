#include "gpu_worker/backends/cuda/cublaslt/candidate.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <utility>

// Choosing: the heuristic sorts by its own model of time, which knows nothing of what runs beside
// the product, so all of its list is kept for measuring. What it may miss at batch 1 are split
// sums: a product with few output tiles leaves multiprocessors idle, and dividing its depth k among
// more blocks fills them. wavesCount < 1 says that one wave of blocks does not fill the device; for
// those algorithms the splits are added, as far as each part keeps a depth that is worth a block.

namespace plait::cuda {
namespace {

// 32 MiB: what NVIDIA recommends for Hopper.
constexpr uint64_t kWorkspaceBytesMax = uint64_t{32} << 20;

// More than the heuristic has ever been seen to return.
constexpr int kHeuristicResultsMax = 64;

// Split sums: of the first algorithms, into these numbers of parts, each of at least this depth.
constexpr size_t kSplitAlgorithmsMax = 4;
constexpr std::array<int32_t, 7> kSplits = {2, 3, 4, 6, 8, 12, 16};
constexpr int64_t kSplitDepthMin = 64;

// An address for the heuristic, which never reads the bias, but takes from its address how it will
// be aligned.
void* AddressAlignedTo(int64_t bytes) {
  return reinterpret_cast<void*>(static_cast<uintptr_t>(bytes));
}

// Reads an attribute of an algorithm's configuration; 0 if the library does not know it.
template <class Value>
Value ReadAlgorithmConfig(const CublasLtLibrary& library, const cublasLtMatmulAlgo_t& algorithm,
                          cublasLtMatmulAlgoConfigAttributes_t attribute) {
  Value value = 0;
  size_t written = 0;
  library.algo_get(&algorithm, attribute, &value, sizeof(value), &written);
  return value;
}

template <class Value>
Value ReadCapability(const CublasLtLibrary& library, const cublasLtMatmulAlgo_t& algorithm,
                     cublasLtMatmulAlgoCapAttributes_t attribute) {
  Value value = 0;
  size_t written = 0;
  library.algo_get_capability(&algorithm, attribute, &value, sizeof(value), &written);
  return value;
}

uint64_t NumericalFlags(const CublasLtLibrary& library, const cublasLtMatmulAlgo_t& algorithm) {
  return ReadCapability<uint64_t>(library, algorithm, CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS);
}

// Every flag of cublasLt.h of this version; there is one bit for each.
constexpr uint64_t kKnownFlags =
    CUBLASLT_NUMERICAL_IMPL_FLAGS_FMA | CUBLASLT_NUMERICAL_IMPL_FLAGS_HMMA |
    CUBLASLT_NUMERICAL_IMPL_FLAGS_IMMA | CUBLASLT_NUMERICAL_IMPL_FLAGS_DMMA |
    CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_16F | CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_32F |
    CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_64F | CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_32I |
    CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_16F | CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_16BF |
    CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_TF32 | CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_32F |
    CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_64F | CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_8I |
    CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_8F_E4M3 | CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_8F_E5M2 |
    CUBLASLT_NUMERICAL_IMPL_FLAGS_GAUSSIAN;

// In the words of Candidate::notes().
std::vector<std::string> NotesOf(const CublasLtCall& call, const cublasLtMatmulAlgo_t& algorithm) {
  const CublasLtLibrary& library = *call.library;
  const uint64_t flags = NumericalFlags(library, algorithm);
  const cudaDataType_t type = call.product.type;
  const bool splits =
      ReadAlgorithmConfig<int32_t>(library, algorithm, CUBLASLT_ALGO_CONFIG_SPLITK_NUM) > 1;
  const auto scheme =
      ReadAlgorithmConfig<uint32_t>(library, algorithm, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME);
  std::vector<std::string> notes;
  if ((flags & CUBLASLT_NUMERICAL_IMPL_FLAGS_TENSOR_OP_MASK) != 0) notes.push_back("tensor_core");
  // Reading halves is no rounding where they are stored as such.
  const uint64_t rounded = CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_TF32 |
                           (type == CUDA_R_32F ? CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_16F |
                                                     CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_16BF
                                               : 0);
  if ((flags & rounded) != 0) notes.push_back("down_convert_inputs");
  // Parts of a split sum that are kept in the output's type are rounded to it before they are
  // added.
  const bool parts_are_rounded =
      splits && type != CUDA_R_32F && scheme != CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  if ((flags & CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_16F) != 0 || parts_are_rounded) {
    notes.push_back("reduced_precision_reduction");
  }
  if (flags == 0 || (flags & ~kKnownFlags) != 0) notes.push_back("unknown_numerical_note");
  if (splits) notes.push_back("split_k");
  return notes;
}

// One algorithm of cuBLASLt. Belongs to the thread that listed it, as its bias is part of the
// descriptor that it shares with the others.
class CublasLtCandidate final : public Candidate {
 public:
  CublasLtCandidate(std::shared_ptr<const CublasLtCall> call,
                    const cublasLtMatmulHeuristicResult_t& result)
      : call_(std::move(call)),
        algorithm_(result.algo),
        workspace_bytes_(result.workspaceSize),
        name_("cublaslt/" + CublasLtAlgorithmName(*call_->library, algorithm_)) {}

  std::string name() const override { return name_; }

  std::vector<std::string> notes() const override { return NotesOf(*call_, algorithm_); }

  // The heuristic has checked the algorithm against the device already.
  Status Prepare() override { return Ok(); }

  size_t workspace_bytes() const override { return workspace_bytes_; }

  // A missing operand is a caller's mistake that the device would only report long after.
  Status Launch(const Operands& operands, CUstream_st* stream) override {
    const CublasLtProduct& product = call_->product;
    const void* a = AddressOf(product.a.operand, operands);
    const void* b = AddressOf(product.b.operand, operands);
    if (a == nullptr || b == nullptr || operands.outputs.empty() ||
        (product.bias && operands.bias == nullptr) ||
        (product.residual && operands.residual == nullptr) ||
        (workspace_bytes_ > 0 && operands.workspace == nullptr)) {
      return Error{ErrorCode::kInvalid, name_ + ": an operand or the workspace is missing"};
    }
    PLAIT_CUDA_RETURN_IF_ERROR(CheckAddresses(a, b, operands));
    const CublasLtLibrary& library = *call_->library;
    if (product.bias) {
      PLAIT_CUDA_RETURN_IF_ERROR(library.Check(
          library.matmul_set(call_->operation.get(), CUBLASLT_MATMUL_DESC_BIAS_POINTER,
                             &operands.bias, sizeof(operands.bias)),
          name_ + ": bias"));
    }
    // d = alpha op(a) op(b) + beta c: the residual is c. Without one c is never read, but the
    // library wants an address and a layout for it.
    const float alpha = 1.0F;
    const float beta = product.residual ? 1.0F : 0.0F;
    void* const d = operands.outputs[0];
    const void* const c = product.residual ? operands.residual : d;
    return library.Check(
        library.matmul(call_->handle, call_->operation.get(), &alpha, a, call_->a.get(), b,
                       call_->b.get(), &beta, c, call_->d.get(), d, call_->d.get(), &algorithm_,
                       operands.workspace, workspace_bytes_, stream),
        name_ + " launch");
  }

 private:
  // What the algorithm was chosen for has to hold.
  Status CheckAddresses(const void* a, const void* b, const Operands& operands) const {
    const CublasLtProduct& product = call_->product;
    const OperandAlignment& alignment = call_->alignment;
    const std::pair<const void*, int64_t> wanted[] = {
        {a, AlignmentOf(product.a.operand, alignment)},
        {b, AlignmentOf(product.b.operand, alignment)},
        {product.bias ? operands.bias : nullptr, alignment.bias},
        {product.residual ? operands.residual : nullptr, alignment.residual},
        {operands.outputs[0], alignment.outputs},
        {workspace_bytes_ > 0 ? operands.workspace : nullptr, kDeviceAlignmentBytes}};
    for (const auto& [address, bytes] : wanted) {
      if (IsAligned(address, bytes)) continue;
      return Error{ErrorCode::kInvalid, name_ + ": an operand or the workspace is not aligned to " +
                                            std::to_string(bytes) + " bytes"};
    }
    return Ok();
  }

  std::shared_ptr<const CublasLtCall> call_;
  cublasLtMatmulAlgo_t algorithm_;
  size_t workspace_bytes_;
  std::string name_;
};

Result<CublasLtCall::Owned<cublasLtMatrixLayoutOpaque_t>> MakeLayout(const CublasLtLibrary& library,
                                                                     const CublasLtProduct& product,
                                                                     const ProductMatrix& matrix) {
  cublasLtMatrixLayout_t created = nullptr;
  PLAIT_CUDA_RETURN_IF_ERROR(library.Check(
      library.layout_create(&created, product.type, static_cast<uint64_t>(matrix.rows),
                            static_cast<uint64_t>(matrix.columns), matrix.leading),
      "cublasLtMatrixLayoutCreate"));
  CublasLtCall::Owned<cublasLtMatrixLayoutOpaque_t> layout(created, library.layout_destroy);
  // A batch of one is what a layout says by itself.
  if (product.batch == 1) return layout;
  const auto batch = static_cast<int32_t>(product.batch);
  PLAIT_CUDA_RETURN_IF_ERROR(library.Check(
      library.layout_set(created, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof(batch)),
      "cuBLASLt batch count"));
  PLAIT_CUDA_RETURN_IF_ERROR(
      library.Check(library.layout_set(created, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                       &matrix.batch_stride, sizeof(matrix.batch_stride)),
                    "cuBLASLt batch stride"));
  return layout;
}

Result<CublasLtCall::Owned<cublasLtMatmulDescOpaque_t>> MakeOperation(
    const CublasLtLibrary& library, const CublasLtProduct& product,
    const OperandAlignment& alignment) {
  cublasLtMatmulDesc_t created = nullptr;
  PLAIT_CUDA_RETURN_IF_ERROR(library.Check(
      library.matmul_create(&created, product.compute, CUDA_R_32F), "cublasLtMatmulDescCreate"));
  CublasLtCall::Owned<cublasLtMatmulDescOpaque_t> operation(created, library.matmul_destroy);
  const auto set = [&](cublasLtMatmulDescAttributes_t attribute, const auto& value) {
    return library.Check(library.matmul_set(created, attribute, &value, sizeof(value)),
                         "cuBLASLt attribute " + std::to_string(attribute));
  };
  const auto order = [](const ProductMatrix& matrix) {
    return static_cast<int32_t>(matrix.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
  };
  PLAIT_CUDA_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_DESC_TRANSA, order(product.a)));
  PLAIT_CUDA_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_DESC_TRANSB, order(product.b)));
  PLAIT_CUDA_RETURN_IF_ERROR(
      set(CUBLASLT_MATMUL_DESC_EPILOGUE, static_cast<uint32_t>(product.epilogue)));
  if (product.bias) {
    PLAIT_CUDA_RETURN_IF_ERROR(
        set(CUBLASLT_MATMUL_DESC_BIAS_POINTER,
            AddressAlignedTo(std::min(alignment.bias, kDeviceAlignmentBytes))));
  }
  return operation;
}

using HeuristicResults = std::vector<cublasLtMatmulHeuristicResult_t>;

Result<HeuristicResults> AskHeuristic(const CublasLtCall& call) {
  const CublasLtLibrary& library = *call.library;
  cublasLtMatmulPreference_t created = nullptr;
  PLAIT_CUDA_RETURN_IF_ERROR(
      library.Check(library.preference_create(&created), "cublasLtMatmulPreferenceCreate"));
  const CublasLtCall::Owned<cublasLtMatmulPreferenceOpaque_t> preference(
      created, library.preference_destroy);
  PLAIT_CUDA_RETURN_IF_ERROR(
      library.Check(library.preference_set(created, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                           &kWorkspaceBytesMax, sizeof(kWorkspaceBytesMax)),
                    "cuBLASLt workspace limit"));
  // Unsaid, 256 is taken for granted, and what is chosen for it breaks on less.
  const OperandAlignment& alignment = call.alignment;
  const int64_t c_bytes = call.product.residual ? alignment.residual : alignment.outputs;
  const std::pair<cublasLtMatmulPreferenceAttributes_t, int64_t> minima[] = {
      {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, AlignmentOf(call.product.a.operand, alignment)},
      {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, AlignmentOf(call.product.b.operand, alignment)},
      {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, c_bytes},
      {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment.outputs}};
  for (const auto& [attribute, bytes] : minima) {
    // More than the library's own largest tells it nothing.
    const auto value = static_cast<uint32_t>(std::min(bytes, kDeviceAlignmentBytes));
    PLAIT_CUDA_RETURN_IF_ERROR(library.Check(
        library.preference_set(created, attribute, &value, sizeof(value)), "cuBLASLt alignment"));
  }
  HeuristicResults results(kHeuristicResultsMax);
  int count = 0;
  const Status status =
      library.Check(library.get_heuristic(call.handle, call.operation.get(), call.a.get(),
                                          call.b.get(), call.d.get(), call.d.get(), created,
                                          kHeuristicResultsMax, results.data(), &count),
                    "cublasLtMatmulAlgoGetHeuristic");
  // No algorithm at all is reported as an error, which it is not for us.
  if (!status.ok() && status.error().code == ErrorCode::kUnsupported) return HeuristicResults();
  PLAIT_CUDA_RETURN_IF_ERROR(status);
  results.resize(static_cast<size_t>(std::clamp(count, 0, kHeuristicResultsMax)));
  std::erase_if(results, [](const auto& result) { return result.state != CUBLAS_STATUS_SUCCESS; });
  return results;
}

// The algorithm with its sum over k split into each number of parts that it can do. The parts are
// added in the compute type and in a fixed order.
HeuristicResults SplitSums(const CublasLtCall& call, const cublasLtMatmulHeuristicResult_t& whole) {
  const CublasLtLibrary& library = *call.library;
  const uint32_t scheme = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  HeuristicResults split;
  if (ReadCapability<int32_t>(library, whole.algo, CUBLASLT_ALGO_CAP_SPLITK_SUPPORT) == 0 ||
      (ReadCapability<uint32_t>(library, whole.algo, CUBLASLT_ALGO_CAP_REDUCTION_SCHEME_MASK) &
       scheme) == 0) {
    return split;
  }
  const int64_t depth = call.product.a.transposed ? call.product.a.rows : call.product.a.columns;
  for (const int32_t parts : kSplits) {
    if (depth / parts < kSplitDepthMin) break;
    cublasLtMatmulHeuristicResult_t result = whole;
    if (library.algo_set(&result.algo, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, &parts, sizeof(parts)) !=
            CUBLAS_STATUS_SUCCESS ||
        library.algo_set(&result.algo, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, &scheme,
                         sizeof(scheme)) != CUBLAS_STATUS_SUCCESS) {
      continue;
    }
    // algo_check writes to `result`, so the algorithm is taken out first and put back behind it.
    const cublasLtMatmulAlgo_t algorithm = result.algo;
    if (library.algo_check(call.handle, call.operation.get(), call.a.get(), call.b.get(),
                           call.d.get(), call.d.get(), &algorithm,
                           &result) != CUBLAS_STATUS_SUCCESS ||
        result.workspaceSize > kWorkspaceBytesMax) {
      continue;
    }
    result.algo = algorithm;
    split.push_back(result);
  }
  return split;
}

}  // namespace

Result<std::shared_ptr<const CublasLtCall>> MakeCublasLtCall(const CublasLtLibrary& library,
                                                             cublasLtHandle_t handle,
                                                             const CublasLtProduct& product,
                                                             const OperandAlignment& alignment) {
  auto operation = MakeOperation(library, product, alignment);
  if (!operation.ok()) return operation.error();
  auto a = MakeLayout(library, product, product.a);
  if (!a.ok()) return a.error();
  auto b = MakeLayout(library, product, product.b);
  if (!b.ok()) return b.error();
  auto d = MakeLayout(library, product, product.d);
  if (!d.ok()) return d.error();
  return std::shared_ptr<const CublasLtCall>(
      std::make_shared<CublasLtCall>(CublasLtCall{.library = &library,
                                                  .handle = handle,
                                                  .product = product,
                                                  .alignment = alignment,
                                                  .operation = std::move(operation).value(),
                                                  .a = std::move(a).value(),
                                                  .b = std::move(b).value(),
                                                  .d = std::move(d).value()}));
}

Result<std::vector<std::unique_ptr<Candidate>>> ListCublasLtCandidates(
    const std::shared_ptr<const CublasLtCall>& call, Precision precision) {
  Result<HeuristicResults> asked = AskHeuristic(*call);
  if (!asked.ok()) return asked.error();
  HeuristicResults results = std::move(asked).value();
  std::erase_if(results, [&](const auto& result) {
    return !IsAllowed(NotesOf(*call, result.algo), /*has_products=*/true, precision);
  });
  const size_t listed = results.size();
  for (size_t i = 0; i < std::min(listed, kSplitAlgorithmsMax); ++i) {
    if (results[i].wavesCount >= 1.0F) continue;
    const HeuristicResults split = SplitSums(*call, results[i]);
    results.insert(results.end(), split.begin(), split.end());
  }
  std::set<std::string> seen;
  std::vector<std::unique_ptr<Candidate>> candidates;
  for (const cublasLtMatmulHeuristicResult_t& result : results) {
    auto candidate = std::make_unique<CublasLtCandidate>(call, result);
    if (seen.insert(candidate->name()).second) candidates.push_back(std::move(candidate));
  }
  return candidates;
}

std::string CublasLtAlgorithmName(const CublasLtLibrary& library,
                                  const cublasLtMatmulAlgo_t& algorithm) {
  const auto wide = [&](cublasLtMatmulAlgoConfigAttributes_t attribute) {
    return std::to_string(ReadAlgorithmConfig<uint32_t>(library, algorithm, attribute));
  };
  const auto narrow = [&](cublasLtMatmulAlgoConfigAttributes_t attribute) {
    return std::to_string(ReadAlgorithmConfig<uint16_t>(library, algorithm, attribute));
  };
  return "algo" + wide(CUBLASLT_ALGO_CONFIG_ID) + "/tile" + wide(CUBLASLT_ALGO_CONFIG_TILE_ID) +
         ",stages" + wide(CUBLASLT_ALGO_CONFIG_STAGES_ID) + ",splitk" +
         wide(CUBLASLT_ALGO_CONFIG_SPLITK_NUM) + ",reduction" +
         wide(CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME) + ",swizzle" +
         wide(CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING) + ",custom" +
         wide(CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION) + ",inner" +
         narrow(CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID) + ",cluster" +
         narrow(CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID);
}

}  // namespace plait::cuda
