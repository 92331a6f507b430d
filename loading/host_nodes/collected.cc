#include "loading/host_nodes/collected.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "loading/host_nodes/operators.h"

namespace plait {

absl::Status Collected::Add(const Tensor& one) {
  if (count_ > 0 && one.type() != type_) {
    return absl::InvalidArgumentError(absl::StrCat("an iteration gives ", one.type().ToString(),
                                                   ", those before ", type_.ToString()));
  }
  type_ = one.type();
  ++count_;
  Shape all = type_.shape;
  all.insert(all.begin(), count_);
  if (!IsValidShape(all)) {
    return absl::ResourceExhaustedError(
        absl::StrCat(count_, " iterations give more than a tensor may hold"));
  }
  bytes_.append(one.bytes().data(), one.bytes().size());
  return absl::OkStatus();
}

Tensor Collected::Take(int64_t axis, bool is_reversed) && {
  TensorType type = type_;
  type.shape.insert(type.shape.begin() + axis, count_);
  if (axis == 0 && !is_reversed) return Tensor(std::move(type), std::move(bytes_));
  const AroundAxis seen = SeenAround(type, axis);
  std::string bytes;
  bytes.reserve(bytes_.size());
  for (int64_t outer = 0; outer < seen.outer; ++outer) {
    for (int64_t i = 0; i < count_; ++i) {
      const int64_t index = is_reversed ? count_ - 1 - i : i;
      const int64_t at = (index * seen.outer + outer) * seen.inner_bytes;
      bytes.append(bytes_, static_cast<size_t>(at), static_cast<size_t>(seen.inner_bytes));
    }
  }
  return Tensor(std::move(type), std::move(bytes));
}

TensorType EmptyType(const onnx::ValueInfoProto& declared) {
  const onnx::TypeProto::Tensor& tensor = declared.type().tensor_type();
  TensorType type;
  const int32_t element = tensor.elem_type();
  if (element < 0 || element > static_cast<int32_t>(DataType::kBfloat16)) return type;
  type.dtype = static_cast<DataType>(element);
  for (const auto& dimension : tensor.shape().dim) {
    type.shape.push_back(std::max<int64_t>(dimension.dim_value(), 0));
  }
  return type;
}

}  // namespace plait
