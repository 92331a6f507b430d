#pragma once

#include <cstdint>
#include <type_traits>

#include "optimizer/ir/data_type.h"
#include "optimizer/ir/float16.h"

namespace plait {

// What numbers of a type are stored as, and what is computed with, as the reference evaluation
// does: floats in double, rounded once at the end, and integers modulo their range. For kernels
// that are one template over all types.

template <typename T>
struct NumberElement {
  static_assert(std::is_arithmetic_v<T>);
  using Stored = T;
  using Number = std::conditional_t<std::is_floating_point_v<T>, double,
                                    std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>>;
  // What the order of numbers is asked of.
  using Ordered = T;
  static Number Read(Stored stored) { return static_cast<Number>(stored); }
  static Stored Write(Number number) { return static_cast<Stored>(number); }
};

struct Float16Element {
  using Stored = uint16_t;
  using Number = double;
  using Ordered = double;
  static Number Read(Stored stored) { return Float16ToDouble(stored); }
  static Stored Write(Number number) { return DoubleToFloat16(number); }
};

struct Bfloat16Element {
  using Stored = uint16_t;
  using Number = double;
  using Ordered = double;
  static Number Read(Stored stored) { return Bfloat16ToDouble(stored); }
  static Stored Write(Number number) { return DoubleToBfloat16(number); }
};

// visit(element) for the element of a type, a value of one of the structs above; bool is as uint8.
// Returns what `visit` does. REQUIRES: the type is a float, an integer or bool.
template <typename Visit>
auto VisitElement(DataType dtype, const Visit& visit) {
  switch (dtype) {
    case DataType::kFloat16:
      return visit(Float16Element());
    case DataType::kBfloat16:
      return visit(Bfloat16Element());
    case DataType::kFloat64:
      return visit(NumberElement<double>());
    case DataType::kInt8:
      return visit(NumberElement<int8_t>());
    case DataType::kInt16:
      return visit(NumberElement<int16_t>());
    case DataType::kInt32:
      return visit(NumberElement<int32_t>());
    case DataType::kInt64:
      return visit(NumberElement<int64_t>());
    case DataType::kUint16:
      return visit(NumberElement<uint16_t>());
    case DataType::kUint32:
      return visit(NumberElement<uint32_t>());
    case DataType::kUint64:
      return visit(NumberElement<uint64_t>());
    case DataType::kUint8:
    case DataType::kBool:
      return visit(NumberElement<uint8_t>());
    default:
      return visit(NumberElement<float>());
  }
}

}  // namespace plait
