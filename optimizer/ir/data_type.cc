#include "optimizer/ir/data_type.h"

#include <array>

namespace plait {
namespace {

struct Row {
  const char* name;
  int64_t bytes;
};

// Indexed by DataType.
constexpr std::array<Row, 17> kRows = {{{"undefined", 0},
                                        {"float32", 4},
                                        {"uint8", 1},
                                        {"int8", 1},
                                        {"uint16", 2},
                                        {"int16", 2},
                                        {"int32", 4},
                                        {"int64", 8},
                                        {"string", 0},
                                        {"bool", 1},
                                        {"float16", 2},
                                        {"float64", 8},
                                        {"uint32", 4},
                                        {"uint64", 8},
                                        {"complex64", 8},
                                        {"complex128", 16},
                                        {"bfloat16", 2}}};

}  // namespace

int64_t BytesOf(DataType dtype) { return kRows[static_cast<size_t>(dtype)].bytes; }

absl::string_view DataTypeName(DataType dtype) { return kRows[static_cast<size_t>(dtype)].name; }

std::optional<DataType> DataTypeFromName(absl::string_view name) {
  for (size_t i = 0; i < kRows.size(); ++i) {
    if (name == kRows[i].name) return static_cast<DataType>(i);
  }
  return std::nullopt;
}

bool IsFloat(DataType dtype) {
  return dtype == DataType::kFloat32 || dtype == DataType::kFloat16 ||
         dtype == DataType::kFloat64 || dtype == DataType::kBfloat16;
}

bool IsInteger(DataType dtype) {
  switch (dtype) {
    case DataType::kInt8:
    case DataType::kInt16:
    case DataType::kInt32:
    case DataType::kInt64:
    case DataType::kUint8:
    case DataType::kUint16:
    case DataType::kUint32:
    case DataType::kUint64:
      return true;
    default:
      return false;
  }
}

}  // namespace plait
