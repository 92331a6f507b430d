#pragma once

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace plait {

// Element types. plait computes with floats, integers and bool; strings and complex numbers are
// only carried, by nodes that stay opaque. The numbers are those of ONNX's TensorProto.DataType, so
// import and export cast.
//
// binary16 and bfloat16 are both 16 bits wide and not exchangeable: the one has 11 significant bits
// and ends at 65504, the other has 8 and float32's range.
enum class DataType : uint8_t {
  kUndefined = 0,
  kFloat32 = 1,
  kUint8 = 2,
  kInt8 = 3,
  kUint16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kFloat64 = 11,
  kUint32 = 12,
  kUint64 = 13,
  kComplex64 = 14,
  kComplex128 = 15,
  kBfloat16 = 16,
};

// Bytes of one element; a bool takes one. 0 for kUndefined and kString, whose elements have no
// fixed size.
int64_t BytesOf(DataType dtype);

// numpy's name: "float32", "int64", "bool", "bfloat16". The text form, plans and profile keys use
// it, so that a name once given stays.
absl::string_view DataTypeName(DataType dtype);
// The inverse; nullopt for any other word.
std::optional<DataType> DataTypeFromName(absl::string_view name);

// bool is neither: it has its own operators, and no arithmetic.
bool IsFloat(DataType dtype);    // float16, bfloat16, float32, float64
bool IsInteger(DataType dtype);  // signed and unsigned integers; not bool

}  // namespace plait
