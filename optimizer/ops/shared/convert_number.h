#pragma once

#include <cstdint>

#include "optimizer/ir/data_type.h"

namespace plait {

// What Cast makes of one number, and operators on integers that compute in floats.

// `value` cut to an integer of type `to`, or to whether it is 0. ONNX leaves floats beyond the
// integer type's range undefined; here they saturate and NaN gives 0.
int64_t IntegerOf(double value, DataType to);

// `value` of integer type `from`, of which uint64 wraps, as a number of float type `to`. float32
// directly, because rounding to double before would round twice.
double FloatOf(int64_t value, DataType from, DataType to);

}  // namespace plait
