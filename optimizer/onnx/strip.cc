#include "optimizer/onnx/strip.h"

#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "optimizer/onnx/messages/protobuf_fields.h"
#include "optimizer/onnx/messages/read_message.h"
#include "optimizer/onnx/messages/rewrite_tensors.h"
#include "optimizer/onnx/messages/tensor_proto.h"

namespace plait {

namespace {

// A tensor is a list of protobuf fields. One of them holds the elements, and in its place, header
// and all, go three fields with its digest and its number:
//
//   dims, data_type, raw_data <4096 bytes>, name   ->   dims, data_type, external_data {location,
//   "plait:<digest>"}, external_data {plait.field, 9}, data_location EXTERNAL, name
//
// Materializing finds those three by their bytes and puts header and elements back. All other
// fields keep their bytes and order, which is why the file comes back the same.

// Fields of TensorProto.
constexpr int kDataTypeField = 2;
constexpr int kFloatDataField = 4;
constexpr int kRawDataField = 9;
constexpr int kDoubleDataField = 10;
constexpr int kExternalDataField = 13;
constexpr int kDataLocationField = 14;

// The key that tells which field held the bytes.
constexpr absl::string_view kFieldKey = "plait.field";

bool HoldsElements(int field) {
  return field == kFloatDataField || field == kRawDataField || field == kDoubleDataField;
}

void AppendEntry(absl::string_view key, absl::string_view value, std::string* out) {
  std::string entry;
  AppendLengthDelimited(1, key, &entry);
  AppendLengthDelimited(2, value, &entry);
  AppendLengthDelimited(kExternalDataField, entry, out);
}

// What stands where the bytes stood: two entries, then the location flag.
std::string Placeholder(int field, const Digest& digest) {
  std::string bytes;
  AppendEntry("location", absl::StrCat(kStrippedLocationPrefix, digest.ToString()), &bytes);
  AppendEntry(kFieldKey, absl::StrCat(field), &bytes);
  AppendVarint(kDataLocationField << 3, &bytes);
  AppendVarint(onnx::TensorProto::kExternal, &bytes);
  return bytes;
}

// A tensor is stripped when one field holds all its elements and none of its fields is what a
// placeholder consists of.
absl::StatusOr<bool> CanStrip(absl::string_view tensor) {
  WireReader reader(tensor);
  int holders = 0;
  bool large = false;
  while (true) {
    PLAIT_ASSIGN_OR_RETURN(const std::optional<WireField> field, reader.Next());
    if (!field.has_value()) return holders == 1 && large;
    // Tensors that the IR cannot hold travel inside their nodes, with their bytes.
    if (field->number == kDataTypeField && !IsSupportedDataType(static_cast<int>(field->varint))) {
      return false;
    }
    if (field->number == kExternalDataField || field->number == kDataLocationField) return false;
    if (!HoldsElements(field->number)) continue;
    // Unpacked elements are fields of their own.
    if (!field->is_message()) return false;
    ++holders;
    std::string shortest;
    AppendVarint(static_cast<uint64_t>(field->number) << 3 | 2, &shortest);
    AppendVarint(field->payload.size(), &shortest);
    large = static_cast<int64_t>(field->payload.size()) > kInlineConstantBytesMax &&
            field->header == shortest;
  }
}

absl::Status StripTensor(absl::string_view tensor, Stripped* stripped, std::string* out) {
  PLAIT_ASSIGN_OR_RETURN(const bool can_strip, CanStrip(tensor));
  if (!can_strip) {
    out->append(tensor.data(), tensor.size());
    return absl::OkStatus();
  }
  WireReader reader(tensor);
  while (true) {
    PLAIT_ASSIGN_OR_RETURN(const std::optional<WireField> field, reader.Next());
    if (!field.has_value()) return absl::OkStatus();
    if (!HoldsElements(field->number)) {
      out->append(field->whole.data(), field->whole.size());
      continue;
    }
    // Equal weights have one digest and are kept once.
    const Digest digest = DigestOf(field->payload);
    out->append(Placeholder(field->number, digest));
    stripped->weights.emplace(digest, field->payload);
  }
}

// The number of the field that held a stripped tensor's bytes.
int HeldField(const onnx::TensorProto& proto) {
  int field = 0;
  for (const auto& entry : proto.external_data) {
    if (entry.key() == kFieldKey && absl::SimpleAtoi(entry.value(), &field)) return field;
  }
  return 0;
}

absl::Status MaterializeTensor(absl::string_view tensor, const WeightReader& read,
                               std::string* out) {
  PLAIT_ASSIGN_OR_RETURN(const onnx::TensorProto proto,
                         ReadMessage<onnx::TensorProto>(tensor, "tensor"));
  const std::optional<Digest> digest = StrippedDigest(proto);
  if (!digest.has_value()) {
    out->append(tensor.data(), tensor.size());
    return absl::OkStatus();
  }
  const int held_field = HeldField(proto);
  const std::string placeholder = Placeholder(held_field, *digest);
  // By its bytes: a placeholder that somebody re-encoded cannot lead back to the same file.
  const size_t position = tensor.find(placeholder);
  if (!HoldsElements(held_field) || position == absl::string_view::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("tensor '", proto.name(), "': not in the form that stripping leaves"));
  }
  PLAIT_ASSIGN_OR_RETURN(const std::string bytes, read(*digest));
  if (static_cast<int64_t>(bytes.size()) != digest->size_bytes) {
    return absl::InvalidArgumentError(absl::StrCat("tensor '", proto.name(), "': its weight has ",
                                                   bytes.size(), " bytes, expected are ",
                                                   digest->size_bytes));
  }
  out->append(tensor.data(), position);
  AppendLengthDelimited(held_field, bytes, out);
  const absl::string_view rest = tensor.substr(position + placeholder.size());
  out->append(rest.data(), rest.size());
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Stripped> StripWeights(absl::string_view model) {
  Stripped stripped;
  PLAIT_ASSIGN_OR_RETURN(
      stripped.skeleton,
      RewriteTensors(model, TensorScope::kWeights, [&](absl::string_view tensor, std::string* out) {
        return StripTensor(tensor, &stripped, out);
      }));
  return stripped;
}

absl::StatusOr<Tensor> StrippedWeights::Get(const Digest& digest, const TensorType& type) const {
  const auto found = stripped_.weights.find(digest);
  if (found == stripped_.weights.end() || type.bytes() != digest.size_bytes) {
    return absl::NotFoundError(absl::StrCat("weight ", digest.ToString(), " is not in the file"));
  }
  return Tensor(type, std::string(found->second));
}

absl::StatusOr<std::string> MaterializeWeights(absl::string_view skeleton,
                                               const WeightReader& read) {
  return RewriteTensors(skeleton, TensorScope::kWeights,
                        [&read](absl::string_view tensor, std::string* out) {
                          return MaterializeTensor(tensor, read, out);
                        });
}

}  // namespace plait
