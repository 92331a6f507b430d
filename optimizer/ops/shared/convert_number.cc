#include "optimizer/ops/shared/convert_number.h"

#include <cmath>
#include <limits>

namespace plait {

int64_t IntegerOf(double value, DataType to) {
  if (to == DataType::kBool) return value != 0 ? 1 : 0;
  if (value != value) return 0;
  const bool is_unsigned = to == DataType::kUint8 || to == DataType::kUint16 ||
                           to == DataType::kUint32 || to == DataType::kUint64;
  const int bits = static_cast<int>(8 * BytesOf(to)) - (is_unsigned ? 0 : 1);
  const double limit = std::ldexp(1.0, bits);
  const uint64_t max = std::numeric_limits<uint64_t>::max() >> (64 - bits);
  if (value >= limit) return static_cast<int64_t>(max);
  if (is_unsigned) return value <= 0 ? 0 : static_cast<int64_t>(static_cast<uint64_t>(value));
  if (value < -limit) return -static_cast<int64_t>(max) - 1;
  return static_cast<int64_t>(value);
}

double FloatOf(int64_t value, DataType from, DataType to) {
  if (from == DataType::kUint64) {
    const uint64_t bits = static_cast<uint64_t>(value);
    return to == DataType::kFloat32 ? static_cast<float>(bits) : static_cast<double>(bits);
  }
  return to == DataType::kFloat32 ? static_cast<float>(value) : static_cast<double>(value);
}

}  // namespace plait
