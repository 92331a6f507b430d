#include "runtime/c_tensors.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace plait {
namespace {

absl::Status CheckTensor(const plait_tensor& given, const SessionTensor& wanted) {
  if (given.memory_kind != PLAIT_MEMORY_CPU) {
    return absl::InvalidArgumentError(absl::StrCat("memory kind ", given.memory_kind,
                                                   " is not known; there is PLAIT_MEMORY_CPU"));
  }
  const Shape& shape = wanted.type.shape;
  // Before its dimensions are read: a rank that is wrong may be any number.
  if (given.rank != shape.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("must be ", wanted.type.ToString(), ", is of rank ", given.rank));
  }
  if (given.rank > 0) PLAIT_RETURN_IF_ERROR(CheckNotNull(given.dims, "dims"));
  if (given.element_type != static_cast<int32_t>(wanted.type.dtype) ||
      !std::equal(shape.begin(), shape.end(), given.dims)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "must be ", wanted.type.ToString(), ", is of element type ", given.element_type, " and ",
        ShapeToString(Shape(given.dims, given.dims + given.rank))));
  }
  const auto bytes = static_cast<size_t>(wanted.type.bytes());
  if (given.byte_size != bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("byte_size must be ", bytes, ", is ", given.byte_size));
  }
  return bytes == 0 ? absl::OkStatus() : CheckNotNull(given.data, "data");
}

}  // namespace

absl::Status CheckSize(size_t size, size_t size_min, absl::string_view name) {
  if (size >= size_min) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(name, ": struct_size is ", size,
                                                 ", must be at least ", size_min,
                                                 " (set it with its _INIT)"));
}

absl::Status CheckNotNull(const void* pointer, absl::string_view name) {
  if (pointer != nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(name, ": must not be NULL"));
}

absl::Status Describe(absl::Span<const SessionTensor> tensors, size_t index, bool bound,
                      plait_tensor* described) {
  PLAIT_RETURN_IF_ERROR(CheckNotNull(described, "tensor"));
  PLAIT_RETURN_IF_ERROR(CheckSize(described->struct_size, kTensorBytesMin, "tensor"));
  if (index >= tensors.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("tensor ", index, ": there are ", tensors.size(), ", numbered from 0"));
  }
  const TensorType& type = tensors[index].type;
  plait_tensor tensor = PLAIT_TENSOR_INIT;
  tensor.element_type = static_cast<int32_t>(type.dtype);
  tensor.rank = type.shape.size();
  tensor.dims = type.shape.data();
  tensor.data = bound ? tensors[index].data : nullptr;
  tensor.byte_size = tensors[index].is_open ? 0 : static_cast<size_t>(type.bytes());
  Write(tensor, described);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<void*>> ReadTensors(const plait_tensor* given, size_t count,
                                               absl::Span<const SessionTensor> wanted,
                                               absl::string_view kind) {
  if (count != wanted.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the model has ", wanted.size(), " ", kind, "s, given are ", count));
  }
  std::vector<void*> places;
  if (count == 0) return places;
  PLAIT_RETURN_IF_ERROR(CheckNotNull(given, kind));
  PLAIT_RETURN_IF_ERROR(CheckSize(given->struct_size, kTensorBytesMin, kind));
  for (size_t i = 0; i < count; ++i) {
    const plait_tensor& tensor = ElementOf(given, i);
    // Of an output whose shape only a run tells nothing is wanted.
    if (wanted[i].is_open) {
      places.push_back(nullptr);
      continue;
    }
    const absl::Status status = CheckTensor(tensor, wanted[i]);
    if (!status.ok()) {
      return Annotate(status, absl::StrCat(kind, " ", i, " ('", wanted[i].name, "')"));
    }
    places.push_back(tensor.data);
  }
  return places;
}

}  // namespace plait
