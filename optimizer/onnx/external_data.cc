#include "optimizer/onnx/external_data.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "optimizer/onnx/messages/protobuf_fields.h"
#include "optimizer/onnx/messages/read_message.h"
#include "optimizer/onnx/messages/rewrite_tensors.h"
#include "optimizer/onnx/messages/tensor_proto.h"
#include "optimizer/onnx/messages/write_message.h"
#include "optimizer/ops/shared/axes.h"

namespace plait {

namespace {

// True for a path that stays in its folder on every system that may read it: no absolute path, no
// "..", and neither a backslash nor a drive letter, which mean something on Windows.
bool IsInside(const std::string& path) {
  if (path.empty() || path.front() == '/') return false;
  if (path.find('\0') != std::string::npos || absl::StrContains(path, "\\") ||
      absl::StrContains(path, ":")) {
    return false;
  }
  for (const absl::string_view part : absl::StrSplit(path, '/')) {
    if (part.empty() || part == "..") return false;
  }
  return true;
}

// The bytes that a tensor's data takes in the file; nullopt when neither the tensor's type nor its
// declared length tells.
std::optional<int64_t> SizeOf(const onnx::TensorProto& proto, std::optional<int64_t> length) {
  if (!IsSupportedDataType(proto.data_type())) return length;
  const absl::StatusOr<TensorType> type = TypeOfTensorProto(proto);
  if (!type.ok() || (length.has_value() && *length != type->bytes())) return std::nullopt;
  return type->bytes();
}

absl::StatusOr<ExternalRange> ReadRange(const onnx::TensorProto& proto) {
  ExternalRange range;
  std::optional<int64_t> length;
  for (const auto& entry : proto.external_data) {
    int64_t number = 0;
    if (entry.key() == "location") {
      range.path = entry.value();
    } else if (entry.key() == "offset" || entry.key() == "length") {
      if (!absl::SimpleAtoi(entry.value(), &number) || number < 0) {
        return TensorError(proto,
                           absl::StrCat("the ", entry.key(), " of its external data is no number"));
      }
      if (entry.key() == "offset") {
        range.offset_bytes = number;
      } else {
        length = number;
      }
    }
  }
  if (!IsInside(range.path)) {
    return TensorError(proto, absl::StrCat("its external data '", range.path,
                                           "' does not lie in the model's folder"));
  }
  const std::optional<int64_t> size = SizeOf(proto, length);
  if (!size.has_value()) {
    return TensorError(proto, "the length of its external data does not fit its type");
  }
  if (*size > kModelBytesMax) {
    return absl::ResourceExhaustedError(absl::StrCat("tensor '", proto.name(), "' has ", *size,
                                                     " bytes, more than fit in a model"));
  }
  range.size_bytes = *size;
  return range;
}

// Without parsing, which would copy the elements. The field holds an enum; true also for a weight
// that was stripped.
absl::StatusOr<bool> LiesElsewhere(absl::string_view tensor) {
  constexpr int kDataLocationField = 14;
  WireReader reader(tensor);
  bool lies_elsewhere = false;
  while (true) {
    PLAIT_ASSIGN_OR_RETURN(const std::optional<WireField> field, reader.Next());
    if (!field.has_value()) return lies_elsewhere;
    if (field->number == kDataLocationField) {
      lies_elsewhere = field->varint == onnx::TensorProto::kExternal;
    }
  }
}

// The tensor without its elements, if these lie in another file.
absl::StatusOr<std::optional<onnx::TensorProto>> ReadExternal(absl::string_view tensor) {
  PLAIT_ASSIGN_OR_RETURN(const bool lies_elsewhere, LiesElsewhere(tensor));
  if (!lies_elsewhere) return std::nullopt;
  PLAIT_ASSIGN_OR_RETURN(onnx::TensorProto proto, ReadMessage<onnx::TensorProto>(tensor, "tensor"));
  if (StrippedDigest(proto).has_value()) return std::nullopt;
  return proto;
}

absl::Status PackTensor(absl::string_view tensor, const ExternalReader& read, std::string* out) {
  PLAIT_ASSIGN_OR_RETURN(std::optional<onnx::TensorProto> proto, ReadExternal(tensor));
  if (!proto.has_value()) {
    out->append(tensor.data(), tensor.size());
    return absl::OkStatus();
  }
  PLAIT_ASSIGN_OR_RETURN(const ExternalRange range, ReadRange(*proto));
  absl::StatusOr<std::string> bytes = read(range);
  if (!bytes.ok()) return Annotate(bytes.status(), absl::StrCat("tensor '", proto->name(), "'"));
  if (static_cast<int64_t>(bytes->size()) != range.size_bytes) {
    return TensorError(*proto, absl::StrCat("'", range.path, "' gives ", bytes->size(),
                                            " bytes of its data, needed are ", range.size_bytes));
  }
  // The tensor now looks as if the exporter had never used a second file.
  proto->external_data.clear();
  proto->data_location.clear();
  proto->raw_data = *std::move(bytes);
  PLAIT_ASSIGN_OR_RETURN(const std::string packed, WriteMessage(*proto, "tensor"));
  out->append(packed);
  return absl::OkStatus();
}

// How much of the model lies in other files.
struct External {
  int tensors = 0;
  int64_t size_bytes = 0;
};

absl::StatusOr<External> FindExternal(absl::string_view model) {
  External found;
  const auto visit = [&found](absl::string_view, absl::string_view tensor) -> absl::Status {
    PLAIT_ASSIGN_OR_RETURN(const std::optional<onnx::TensorProto> proto, ReadExternal(tensor));
    if (!proto.has_value()) return absl::OkStatus();
    PLAIT_ASSIGN_OR_RETURN(const ExternalRange range, ReadRange(*proto));
    ++found.tensors;
    found.size_bytes = SaturatingAdd(found.size_bytes, range.size_bytes);
    return absl::OkStatus();
  };
  PLAIT_RETURN_IF_ERROR(VisitTensors(model, TensorScope::kAll, visit));
  return found;
}

}  // namespace

absl::StatusOr<bool> HasExternalData(absl::string_view model) {
  PLAIT_ASSIGN_OR_RETURN(const External external, FindExternal(model));
  return external.tensors > 0;
}

absl::StatusOr<std::string> PackExternalData(std::string model, const ExternalReader& read) {
  PLAIT_ASSIGN_OR_RETURN(const External external, FindExternal(model));
  if (external.tensors == 0) return model;
  const int64_t packed_bytes =
      SaturatingAdd(static_cast<int64_t>(model.size()), external.size_bytes);
  if (packed_bytes > kModelBytesMax) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the model with its weights has ", packed_bytes, " bytes, more than ",
                     kModelBytesMax, ", the largest protobuf message"));
  }
  return RewriteTensors(model, TensorScope::kAll,
                        [&read](absl::string_view tensor, std::string* out) {
                          return PackTensor(tensor, read, out);
                        });
}

}  // namespace plait
