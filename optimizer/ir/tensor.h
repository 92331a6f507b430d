#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "optimizer/ir/tensor_type.h"

namespace plait {

// A tensor's value: inline constants, weights, and what evaluation takes and gives. Row-major,
// little-endian elements that are never changed after construction. Copies share the bytes. Safe to
// read from any thread. String tensors have no Tensor value.
class Tensor {
 public:
  // Of type kUndefined: no value.
  Tensor() = default;

  // Takes over `bytes`; they need no alignment. REQUIRES: bytes.size() == type.bytes().
  Tensor(TensorType type, std::string bytes);

  // Looks at bytes that `owner` keeps alive (a mapped file, an arena).
  // REQUIRES: bytes.size() == type.bytes().
  Tensor(TensorType type, absl::string_view bytes, std::shared_ptr<const void> owner);

  // A tensor of T's type; copies the values. REQUIRES: values.size() == product of shape.
  template <typename T>
  static Tensor Of(Shape shape, absl::Span<const T> values);

  // What operators take as lists and scalars.
  // A rank-1 int64 tensor: axes, shapes, repeats.
  static Tensor Int64s(absl::Span<const int64_t> values);
  static Tensor ScalarFloat(float value);
  static Tensor ScalarInt64(int64_t value);

  const TensorType& type() const { return type_; }
  // Valid as long as this tensor or a copy of it lives.
  absl::string_view bytes() const { return bytes_; }
  int64_t elements() const { return type_.elements(); }

  // Element `index` read as T, whatever the alignment. REQUIRES: sizeof(T) == BytesOf(dtype).
  template <typename T>
  T at(int64_t index) const {
    T value;
    std::memcpy(&value, bytes_.data() + index * static_cast<int64_t>(sizeof(T)), sizeof(T));
    return value;
  }

  // Two common forms for code that should not care about element types; both copy.
  // All elements as 64-bit integers; for integer and bool tensors.
  // Unsigned 64-bit values above the signed range wrap.
  std::vector<int64_t> AsInt64s() const;

  // All elements as doubles, which hold every float and every integer up to 2^53 exactly; for
  // float, integer and bool tensors.
  std::vector<double> AsDoubles() const;

  // The inverse of AsDoubles: rounds to nearest even for floats; for integers cuts the fraction and
  // saturates (0 for a NaN); true for everything but zero. REQUIRES: values.size() ==
  // type.elements().
  static Tensor FromDoubles(TensorType type, absl::Span<const double> values);
  // The inverse of AsInt64s, for floats too: integers that the dtype cannot hold wrap.
  static Tensor FromInt64s(TensorType type, absl::Span<const int64_t> values);

  // Equal in type and in every bit: a NaN equals itself, and 0.0 is not -0.0.
  friend bool operator==(const Tensor& a, const Tensor& b) {
    return a.type_ == b.type_ && a.bytes_ == b.bytes_;
  }

 private:
  TensorType type_;
  // Keeps `bytes_` alive.
  std::shared_ptr<const void> owner_;
  absl::string_view bytes_;
};

// The element type that C++'s type T stands for; the 16-bit floats have no such type.
template <typename T>
constexpr DataType DataTypeOf();
template <>
constexpr DataType DataTypeOf<float>() {
  return DataType::kFloat32;
}
template <>
constexpr DataType DataTypeOf<double>() {
  return DataType::kFloat64;
}
template <>
constexpr DataType DataTypeOf<int32_t>() {
  return DataType::kInt32;
}
template <>
constexpr DataType DataTypeOf<int64_t>() {
  return DataType::kInt64;
}
template <>
constexpr DataType DataTypeOf<int8_t>() {
  return DataType::kInt8;
}
template <>
constexpr DataType DataTypeOf<uint8_t>() {
  return DataType::kUint8;
}
template <>
constexpr DataType DataTypeOf<bool>() {
  return DataType::kBool;
}

template <typename T>
Tensor Tensor::Of(Shape shape, absl::Span<const T> values) {
  return Tensor(
      TensorType{DataTypeOf<T>(), std::move(shape)},
      std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)));
}

}  // namespace plait
