#include "optimizer/ir/tensor.h"

#include <cmath>
#include <limits>
#include <type_traits>

#include "base/status_macros.h"
#include "optimizer/ir/float16.h"

namespace plait {
namespace {

// Calls `visit` with a value of the C++ type that stores `dtype`. Half floats are stored as their
// bits, so callers handle them first.
template <typename Visitor>
auto VisitStorage(DataType dtype, Visitor visit) {
  switch (dtype) {
    case DataType::kFloat32:
      return visit(float{});
    case DataType::kFloat64:
      return visit(double{});
    case DataType::kInt8:
      return visit(int8_t{});
    case DataType::kInt16:
      return visit(int16_t{});
    case DataType::kInt32:
      return visit(int32_t{});
    case DataType::kInt64:
      return visit(int64_t{});
    case DataType::kUint8:
    case DataType::kBool:
      return visit(uint8_t{});
    case DataType::kUint16:
      return visit(uint16_t{});
    case DataType::kUint32:
      return visit(uint32_t{});
    case DataType::kUint64:
      return visit(uint64_t{});
    default:
      // Strings, complex numbers and unknown types have no value as a number; callers check the
      // dtype.
      PLAIT_CHECK(false && "a tensor of this dtype has no numbers");
      std::abort();
  }
}

// A cast of a double that T cannot hold would be undefined.
template <typename T>
T Saturate(double value) {
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(value);
  } else {
    if (std::isnan(value)) return 0;
    // The largest 64-bit integers round up to a power of two here, which >= then catches.
    if (value <= static_cast<double>(std::numeric_limits<T>::min())) {
      return std::numeric_limits<T>::min();
    }
    if (value >= static_cast<double>(std::numeric_limits<T>::max())) {
      return std::numeric_limits<T>::max();
    }
    return static_cast<T>(value);
  }
}

// A tensor whose element i is `element(i)`.
template <typename T, typename Element>
Tensor Fill(TensorType type, Element element) {
  const int64_t count = type.elements();
  std::string bytes(static_cast<size_t>(count) * sizeof(T), '\0');
  for (int64_t i = 0; i < count; ++i) {
    const T value = element(i);
    std::memcpy(bytes.data() + static_cast<size_t>(i) * sizeof(T), &value, sizeof(T));
  }
  return Tensor(std::move(type), std::move(bytes));
}

}  // namespace

// The string moves to the heap first: a short one lies within the object, and its bytes would move
// with it.
Tensor::Tensor(TensorType type, std::string bytes) : type_(std::move(type)) {
  PLAIT_CHECK(static_cast<int64_t>(bytes.size()) == type_.bytes());
  const auto owned = std::make_shared<const std::string>(std::move(bytes));
  bytes_ = *owned;
  owner_ = owned;
}

Tensor::Tensor(TensorType type, absl::string_view bytes, std::shared_ptr<const void> owner)
    : type_(std::move(type)), owner_(std::move(owner)), bytes_(bytes) {
  PLAIT_CHECK(static_cast<int64_t>(bytes_.size()) == type_.bytes());
}

Tensor Tensor::Int64s(absl::Span<const int64_t> values) {
  return Of<int64_t>({static_cast<int64_t>(values.size())}, values);
}
Tensor Tensor::ScalarFloat(float value) { return Of<float>({}, {value}); }
Tensor Tensor::ScalarInt64(int64_t value) { return Of<int64_t>({}, {value}); }

std::vector<int64_t> Tensor::AsInt64s() const {
  PLAIT_CHECK(IsInteger(type_.dtype) || type_.dtype == DataType::kBool);
  std::vector<int64_t> values(static_cast<size_t>(elements()));
  VisitStorage(type_.dtype, [&](auto storage) {
    using T = decltype(storage);
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<int64_t>(at<T>(static_cast<int64_t>(i)));
    }
  });
  // A byte of a bool may be anything but 0 and still be true.
  if (type_.dtype == DataType::kBool) {
    for (int64_t& value : values) value = value != 0 ? 1 : 0;
  }
  return values;
}

std::vector<double> Tensor::AsDoubles() const {
  std::vector<double> values(static_cast<size_t>(elements()));
  const auto fill = [&](auto element) {
    for (size_t i = 0; i < values.size(); ++i) values[i] = element(static_cast<int64_t>(i));
  };
  if (type_.dtype == DataType::kFloat16) {
    fill([&](int64_t i) { return Float16ToDouble(at<uint16_t>(i)); });
  } else if (type_.dtype == DataType::kBfloat16) {
    fill([&](int64_t i) { return Bfloat16ToDouble(at<uint16_t>(i)); });
  } else if (type_.dtype == DataType::kBool) {
    fill([&](int64_t i) { return at<uint8_t>(i) != 0 ? 1.0 : 0.0; });
  } else {
    VisitStorage(type_.dtype, [&](auto storage) {
      fill([&](int64_t i) { return static_cast<double>(at<decltype(storage)>(i)); });
    });
  }
  return values;
}

Tensor Tensor::FromDoubles(TensorType type, absl::Span<const double> values) {
  PLAIT_CHECK(static_cast<int64_t>(values.size()) == type.elements());
  const DataType dtype = type.dtype;
  if (dtype == DataType::kFloat16) {
    return Fill<uint16_t>(std::move(type), [&](int64_t i) { return DoubleToFloat16(values[i]); });
  }
  if (dtype == DataType::kBfloat16) {
    return Fill<uint16_t>(std::move(type), [&](int64_t i) { return DoubleToBfloat16(values[i]); });
  }
  if (dtype == DataType::kBool) {
    return Fill<uint8_t>(std::move(type),
                         [&](int64_t i) { return static_cast<uint8_t>(values[i] != 0); });
  }
  return VisitStorage(dtype, [&](auto storage) {
    using T = decltype(storage);
    return Fill<T>(std::move(type), [&](int64_t i) { return Saturate<T>(values[i]); });
  });
}

Tensor Tensor::FromInt64s(TensorType type, absl::Span<const int64_t> values) {
  PLAIT_CHECK(static_cast<int64_t>(values.size()) == type.elements());
  const DataType dtype = type.dtype;
  if (dtype == DataType::kFloat16 || dtype == DataType::kBfloat16) {
    return FromDoubles(std::move(type), std::vector<double>(values.begin(), values.end()));
  }
  if (dtype == DataType::kBool) {
    return Fill<uint8_t>(std::move(type),
                         [&](int64_t i) { return static_cast<uint8_t>(values[i] != 0); });
  }
  return VisitStorage(dtype, [&](auto storage) {
    using T = decltype(storage);
    return Fill<T>(std::move(type), [&](int64_t i) { return static_cast<T>(values[i]); });
  });
}

}  // namespace plait
