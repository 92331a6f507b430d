#include "optimizer/onnx/messages/tensor_proto.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"

namespace plait {

namespace {

// The elements of a typed field that are stored as the IR stores them.
template <typename Field>
absl::string_view ViewOf(const Field& field) {
  return absl::string_view(reinterpret_cast<const char*>(field.data()),
                           field.size() * sizeof(*field.data()));
}

// Small integers are stored one per 32-bit (or 64-bit) field element; half floats by their bits.
template <typename Narrow, typename Field>
std::string Narrowed(const Field& field) {
  std::string bytes;
  bytes.reserve(field.size() * sizeof(Narrow));
  for (const auto element : field) {
    const Narrow value = static_cast<Narrow>(element);
    bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  return bytes;
}

// Either a view into the proto or converted bytes.
struct Elements {
  absl::string_view view;
  std::optional<std::string> converted;
};

// The field that ONNX assigns to each element type (onnx.proto, TensorProto).
Elements TypedElements(const onnx::TensorProto& proto) {
  switch (static_cast<DataType>(proto.data_type())) {
    case DataType::kFloat32:
      return {ViewOf(proto.float_data), std::nullopt};
    case DataType::kFloat64:
      return {ViewOf(proto.double_data), std::nullopt};
    case DataType::kInt64:
      return {ViewOf(proto.int64_data), std::nullopt};
    case DataType::kUint64:
      return {ViewOf(proto.uint64_data), std::nullopt};
    case DataType::kInt32:
      return {ViewOf(proto.int32_data), std::nullopt};
    case DataType::kUint32:
      return {{}, Narrowed<uint32_t>(proto.uint64_data)};
    case DataType::kInt8:
    case DataType::kUint8:
      return {{}, Narrowed<uint8_t>(proto.int32_data)};
    case DataType::kBool:
      return {{}, Narrowed<bool>(proto.int32_data)};
    default:  // 16-bit integers and floats
      return {{}, Narrowed<uint16_t>(proto.int32_data)};
  }
}

}  // namespace

absl::Status TensorError(const onnx::TensorProto& proto, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("tensor '", proto.name(), "': ", what));
}

bool IsSupportedDataType(int data_type) {
  if (data_type < 0 || data_type > static_cast<int>(DataType::kBfloat16)) return false;
  const DataType dtype = static_cast<DataType>(data_type);
  return dtype == DataType::kBool || IsFloat(dtype) || IsInteger(dtype);
}

absl::StatusOr<TensorType> TypeOfTensorProto(const onnx::TensorProto& proto) {
  TensorType type;
  type.dtype = static_cast<DataType>(proto.data_type());
  type.shape.assign(proto.dims.begin(), proto.dims.end());
  if (!IsValidShape(type.shape)) {
    return TensorError(proto, absl::StrCat("shape ", ShapeToString(type.shape),
                                           " has a negative dimension or is larger than allowed"));
  }
  return type;
}

absl::StatusOr<Tensor> ReadTensorProto(const onnx::TensorProto& proto,
                                       const std::shared_ptr<const void>& owner) {
  PLAIT_ASSIGN_OR_RETURN(TensorType type, TypeOfTensorProto(proto));
  if (proto.data_location() == onnx::TensorProto::kExternal) {
    return TensorError(
        proto,
        "its data lies in another file, which a model that was sent cannot name "
        "(the client packs external data into the model; plait never opens such paths)");
  }
  if (proto.segment.has()) return TensorError(proto, "segmented tensors are not supported");
  // Raw data wins over a typed field.
  Elements elements =
      proto.raw_data.has() ? Elements{proto.raw_data(), std::nullopt} : TypedElements(proto);
  const absl::string_view view = elements.converted ? *elements.converted : elements.view;
  if (static_cast<int64_t>(view.size()) != type.bytes()) {
    return TensorError(proto, absl::StrCat("holds ", view.size(), " bytes of data, but ",
                                           type.ToString(), " has ", type.bytes()));
  }
  // Others are true in one operator and not in another.
  if (type.dtype == DataType::kBool &&
      std::any_of(view.begin(), view.end(), [](char byte) { return byte != 0 && byte != 1; })) {
    return TensorError(proto, "holds bytes that are no booleans, which are 0 and 1");
  }
  if (elements.converted) return Tensor(std::move(type), *std::move(elements.converted));
  return Tensor(std::move(type), view, owner);
}

absl::StatusOr<Tensor> CopyTensorProto(const onnx::TensorProto& proto) {
  PLAIT_ASSIGN_OR_RETURN(const Tensor view, ReadTensorProto(proto, nullptr));
  return Tensor(view.type(), std::string(view.bytes()));
}

onnx::TensorProto WriteTensorProto(const Tensor& tensor, absl::string_view name) {
  onnx::TensorProto proto;
  proto.name = std::string(name);
  proto.data_type = static_cast<int>(tensor.type().dtype);
  proto.dims.assign(tensor.type().shape.begin(), tensor.type().shape.end());
  proto.raw_data = std::string(tensor.bytes());
  return proto;
}

std::optional<Digest> StrippedDigest(const onnx::TensorProto& proto) {
  for (const onnx::StringStringEntryProto& entry : proto.external_data) {
    if (entry.key() != "location") continue;
    absl::string_view location = entry.value();
    if (!absl::ConsumePrefix(&location, kStrippedLocationPrefix)) return std::nullopt;
    absl::StatusOr<Digest> digest = Digest::Parse(location);
    if (!digest.ok()) return std::nullopt;
    return *std::move(digest);
  }
  return std::nullopt;
}

}  // namespace plait
