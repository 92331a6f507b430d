#include "optimizer/onnx/attach_plan.h"

#include <utility>

#include "absl/strings/match.h"
#include "base/status_macros.h"
#include "optimizer/onnx/messages/protobuf_fields.h"

namespace plait {
namespace {

// Of ONNX's ModelProto and StringStringEntryProto.
constexpr int kMetadataProps = 14;
constexpr int kKey = 1;
constexpr int kValue = 2;

// Whether the field is an entry that plait has written.
bool IsOurs(const WireField& field) {
  if (field.number != kMetadataProps || !field.is_message()) return false;
  const std::optional<std::string> key = FindWireField(field.payload, kKey);
  return key.has_value() && absl::StartsWith(*key, kMetadataPrefix);
}

}  // namespace

// Protobuf takes the fields of a message in any order, so that further entries may stand at the
// end.
absl::StatusOr<ModelWithPlan> AttachPlans(absl::string_view model,
                                          absl::Span<const EmbeddedPlan> plans) {
  ModelWithPlan result;
  WireReader reader(model);
  size_t begin = 0;  // of what is kept next
  while (true) {
    PLAIT_ASSIGN_OR_RETURN(const std::optional<WireField> field, reader.Next());
    if (!field.has_value()) break;
    if (!IsOurs(*field)) continue;
    const size_t place = static_cast<size_t>(field->whole.data() - model.data());
    if (place > begin) result.kept.push_back(model.substr(begin, place - begin));
    begin = place + field->whole.size();
  }
  if (begin < model.size()) result.kept.push_back(model.substr(begin));
  for (const auto& [key, value] : MetadataOf(plans)) {
    std::string entry;
    AppendLengthDelimited(kKey, key, &entry);
    AppendLengthDelimited(kValue, value, &entry);
    AppendLengthDelimited(kMetadataProps, entry, &result.appended);
  }
  return result;
}

}  // namespace plait
