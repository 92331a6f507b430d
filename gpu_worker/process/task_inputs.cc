#include "gpu_worker/process/task_inputs.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "optimizer/ir/match_inputs.h"
#include "proto/wire/digest.h"

namespace plait {
namespace {

using InputSets = google::protobuf::RepeatedPtrField<v1::InputSet>;

// The client's fault and not the search's, which InvalidArgument would say.
absl::Status Misfit(int set, absl::string_view message) {
  return absl::OutOfRangeError(absl::StrCat("input_sets[", set, "]: ", message));
}

absl::Status CheckLimits(const InputSets& sets) {
  int values = 0;
  int64_t bytes = 0;
  for (const v1::InputSet& set : sets) {
    for (const v1::InputValue& value : set.values()) {
      PLAIT_ASSIGN_OR_RETURN(const Digest blob, wire::DigestFromProto(value.blob()));
      if (++values > kInputValuesMax || blob.size_bytes > kInputSetsBytesMax - bytes) {
        return absl::ResourceExhaustedError(absl::StrCat(
            "inputs: more than ", kInputValuesMax, " values or ", kInputSetsBytesMax, " bytes"));
      }
      bytes += blob.size_bytes;
    }
  }
  if (sets.size() <= kInputSetsMax) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat("inputs: more than ", kInputSetsMax, " sets"));
}

// Indices into the set's values, in the graph's order.
absl::StatusOr<std::vector<int>> Match(const v1::InputSet& set, const Graph& graph) {
  std::vector<GivenInput> given;
  for (const v1::InputValue& value : set.values()) {
    given.push_back({value.name(), value.blob().size_bytes()});
  }
  return MatchInputs(graph, given);
}

// Kernels copy booleans as they are: one that is neither 0 nor 1 has no meaning.
bool HasWrongBoolean(const TensorType& type, absl::string_view bytes) {
  return type.dtype == DataType::kBool &&
         std::any_of(bytes.begin(), bytes.end(), [](char byte) { return byte != 0 && byte != 1; });
}

}  // namespace

absl::StatusOr<std::vector<std::vector<Tensor>>> TaskInputs::Read(const InputSets& sets,
                                                                  const Graph& graph) {
  PLAIT_RETURN_IF_ERROR(CheckLimits(sets));
  Blobs blobs;
  std::vector<std::vector<Tensor>> inputs;
  for (int set = 0; set < sets.size(); ++set) {
    const absl::StatusOr<std::vector<int>> order = Match(sets[set], graph);
    if (!order.ok()) return Misfit(set, order.status().message());
    std::vector<Tensor>& tensors = inputs.emplace_back();
    for (const int index : *order) {
      const v1::InputValue& value = sets[set].values(index);
      PLAIT_RETURN_IF_ERROR(Find(value.blob(), blobs));
      const std::shared_ptr<const MappedBlob>& blob = blobs[value.blob().sha256_hex()];
      const absl::string_view bytes = blob->bytes();
      const TensorType& type = graph.type(graph.inputs()[tensors.size()]);
      // As many as the digest says, and so as the type has: unless two digests have one hash.
      if (static_cast<int64_t>(bytes.size()) != type.bytes() || HasWrongBoolean(type, bytes)) {
        return Misfit(set,
                      absl::StrCat("input ", value.name(), ": its value is no ", type.ToString()));
      }
      tensors.emplace_back(type, bytes, blob);
    }
  }
  kept_ = std::move(blobs);
  return inputs;
}

absl::Status TaskInputs::Find(const v1::Digest& blob, Blobs& blobs) const {
  std::shared_ptr<const MappedBlob>& found = blobs[blob.sha256_hex()];
  if (found != nullptr) return absl::OkStatus();
  if (const auto kept = kept_.find(blob.sha256_hex()); kept != kept_.end()) {
    found = kept->second;
    return absl::OkStatus();
  }
  PLAIT_ASSIGN_OR_RETURN(found, fetch_(blob));
  return absl::OkStatus();
}

}  // namespace plait
