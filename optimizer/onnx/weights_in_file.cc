#include "optimizer/onnx/weights_in_file.h"

#include <optional>
#include <string>
#include <variant>

#include "base/status_macros.h"
#include "optimizer/onnx/messages/protobuf_fields.h"
#include "optimizer/onnx/messages/rewrite_tensors.h"
#include "optimizer/onnx/model_parts.h"

namespace plait {

namespace {

using Offsets = absl::btree_map<Digest, int64_t>;

// A weight as import has it.
struct Imported {
  const Digest* digest;
  absl::string_view bytes;
};

// The weight of this name; nullopt when there is none, or it was stripped.
std::optional<Imported> FindWeight(const ModelParts& parts, absl::string_view name) {
  const auto constant = parts.constants.find(name);
  if (constant == parts.constants.end()) return std::nullopt;
  const auto* const weight = std::get_if<Constant::Weight>(&constant->second->value());
  if (weight == nullptr) return std::nullopt;
  const auto found = parts.weights.find(weight->digest);
  if (found == parts.weights.end() || !found->second.has_value()) return std::nullopt;
  return Imported{&found->first, found->second->bytes()};
}

// The payload of the tensor's field that has these bytes. Which fields a tensor keeps its elements
// in does not matter: equal bytes are as good anywhere.
std::optional<absl::string_view> FindPayload(absl::string_view tensor, absl::string_view bytes) {
  WireReader reader(tensor);
  while (true) {
    const absl::StatusOr<std::optional<WireField>> field = reader.Next();
    if (!field.ok() || !field->has_value()) return std::nullopt;
    // Sizes differ in nearly all fields, and then no byte is compared.
    if ((*field)->is_message() && (*field)->payload == bytes) return (*field)->payload;
  }
}

}  // namespace

// Names lead from a tensor in the file to the weight that import made of it. That is where to look
// and no proof: a hostile file may give a name twice, or a tensor two data fields.
absl::StatusOr<Offsets> FindWeightsInFile(const Model& model, absl::string_view file) {
  Offsets offsets;
  const auto visit = [&](absl::string_view name, absl::string_view tensor) {
    const std::optional<Imported> weight = FindWeight(*model.parts(), name);
    // Equal weights lie in the file several times, and one place is enough.
    if (!weight.has_value() || offsets.contains(*weight->digest)) return absl::OkStatus();
    const std::optional<absl::string_view> payload = FindPayload(tensor, weight->bytes);
    if (payload.has_value()) offsets[*weight->digest] = payload->data() - file.data();
    return absl::OkStatus();
  };
  PLAIT_RETURN_IF_ERROR(VisitTensors(file, TensorScope::kWeights, visit));
  return offsets;
}

}  // namespace plait
