#include "gpu_worker/process/task_weights.h"

#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/ops/evaluation/evaluate.h"
#include "proto/wire/weight_table.h"

namespace plait {
namespace {

// Where a file's bytes lie suits no element, and libraries that pack weights want aligned ones.
bool IsAligned(absl::string_view bytes, DataType dtype) {
  const auto element_bytes = static_cast<uintptr_t>(BytesOf(dtype));
  // A hostile graph may name a weight of no bytes as strings, which have no size.
  return element_bytes == 0 || reinterpret_cast<uintptr_t>(bytes.data()) % element_bytes == 0;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const TaskWeights>> TaskWeights::Create(
    std::shared_ptr<const MappedBlob> model, std::shared_ptr<const MappedBlob> table) {
  const absl::string_view file = model->bytes();
  PLAIT_ASSIGN_OR_RETURN(const wire::WeightTable read,
                         wire::ParseWeightTable(table->bytes(), static_cast<int64_t>(file.size())));
  auto weights = std::make_shared<TaskWeights>();
  for (const auto& [digest, entry] : read.entries) {
    std::optional<absl::string_view>& bytes = weights->weights_[digest];
    if (entry.place == wire::WeightPlace::kNowhere) continue;
    bytes = (entry.place == wire::WeightPlace::kModel ? file : read.stored)
                .substr(static_cast<size_t>(entry.offset_bytes),
                        static_cast<size_t>(digest.size_bytes));
    if (DigestOf(*bytes) != digest) {
      return absl::InvalidArgumentError(
          absl::StrCat("the table of weights: other bytes lie where it says that weight ",
                       digest.ToString(), " is"));
    }
  }
  weights->blobs_ = std::make_shared<const Blobs>(Blobs{std::move(model), std::move(table)});
  return weights;
}

absl::StatusOr<Tensor> TaskWeights::Get(const Digest& digest, const TensorType& type) const {
  const auto found = weights_.find(digest);
  if (found == weights_.end()) {
    return absl::NotFoundError(absl::StrCat("the task has no weight ", digest.ToString()));
  }
  // The type is the candidate's, and all that the table knows of it is its size.
  if (type.bytes() != digest.size_bytes) {
    return absl::NotFoundError(
        absl::StrCat("weight ", digest.ToString(), " does not fill ", type.ToString()));
  }
  const std::optional<absl::string_view>& bytes = found->second;
  if (!bytes.has_value()) {
    // Equal weights of two graphs stay equal, which a comparison of their outputs needs.
    const uint64_t seed = std::strtoull(digest.sha256_hex.substr(0, 16).c_str(), nullptr, 16);
    return EvaluateConstant(*Constant::OfSynthetic(type, seed), *this);
  }
  if (!IsAligned(*bytes, type.dtype)) return Tensor(type, std::string(*bytes));
  return Tensor(type, *bytes, blobs_);
}

}  // namespace plait
