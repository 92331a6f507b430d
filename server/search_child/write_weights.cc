#include "server/search_child/write_weights.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/onnx/weights_in_file.h"
#include "proto/wire/error.h"
#include "proto/wire/weight_table.h"
#include "server/search_child/output_file.h"

namespace plait {
namespace {

constexpr absl::string_view kTableName = "the table of weights";

}  // namespace

absl::Status WriteWeights(const Model& model, absl::string_view bytes, int file) {
  const ModelWeights weights = model.weights();
  PLAIT_ASSIGN_OR_RETURN(const auto offsets, FindWeightsInFile(model, bytes));
  wire::WeightEntries entries;
  std::vector<Tensor> stored;
  int64_t stored_bytes = 0;
  for (const Digest& digest : weights.digests()) {
    wire::WeightEntry& entry = entries[digest];
    if (const auto found = offsets.find(digest); found != offsets.end()) {
      entry = {wire::WeightPlace::kModel, found->second};
      continue;
    }
    // As bytes: the weight's type is no part of the table.
    absl::StatusOr<Tensor> value = weights.Get(digest, {DataType::kUint8, {digest.size_bytes}});
    // A stripped one is nowhere.
    if (!value.ok()) continue;
    entry = {wire::WeightPlace::kTable, stored_bytes};
    stored_bytes += digest.size_bytes;
    stored.push_back(*std::move(value));
  }
  if (entries.size() > wire::kWeightsMax) {
    return wire::Error(
        v1::ERROR_REASON_LIMIT_EXCEEDED,
        absl::StrCat("the model has ", entries.size(), " weights, more than ", wire::kWeightsMax));
  }
  PLAIT_RETURN_IF_ERROR(AppendToFile(file, wire::WeightTableLines(entries), kTableName));
  for (const Tensor& value : stored) {
    PLAIT_RETURN_IF_ERROR(AppendToFile(file, value.bytes(), kTableName));
  }
  return absl::OkStatus();
}

}  // namespace plait
