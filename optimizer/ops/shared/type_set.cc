#include "optimizer/ops/shared/type_set.h"

#include "absl/strings/str_cat.h"

namespace plait {
namespace {

absl::string_view TypeSetName(TypeSet set) {
  switch (set) {
    case TypeSet::kFloat:
      return "a float type";
    case TypeSet::kNumber:
      return "a float or integer type";
    case TypeSet::kInteger:
      return "an integer type";
    case TypeSet::kBool:
      return "bool";
    case TypeSet::kAny:
      return "a float, integer or bool type";
  }
  return "";
}

}  // namespace

bool Contains(TypeSet set, DataType dtype) {
  switch (set) {
    case TypeSet::kFloat:
      return IsFloat(dtype);
    case TypeSet::kNumber:
      return IsFloat(dtype) || IsInteger(dtype);
    case TypeSet::kInteger:
      return IsInteger(dtype);
    case TypeSet::kBool:
      return dtype == DataType::kBool;
    case TypeSet::kAny:
      return IsFloat(dtype) || IsInteger(dtype) || dtype == DataType::kBool;
  }
  return false;
}

// A type that nothing here computes is Unimplemented; one that ONNX forbids is InvalidArgument.
absl::Status CheckDataType(const OpCall& call, size_t index, TypeSet set) {
  if (!call.has_input(index)) {
    return absl::UnimplementedError(absl::StrCat("the type of input ", index, " is not known"));
  }
  const DataType dtype = call.input_types[index].dtype;
  if (!Contains(TypeSet::kAny, dtype)) {
    return absl::UnimplementedError(
        absl::StrCat("input ", index, " is ", DataTypeName(dtype), ", which plait cannot compute"));
  }
  if (Contains(set, dtype)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("input ", index, " must have ", TypeSetName(set), ", is ", DataTypeName(dtype)));
}

absl::Status CheckSameDataType(const OpCall& call, size_t first, size_t second) {
  const DataType a = call.input_types[first].dtype;
  const DataType b = call.input_types[second].dtype;
  if (a == b) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("inputs ", first, " and ", second,
                                                 " must have equal types, have ", DataTypeName(a),
                                                 " and ", DataTypeName(b)));
}

}  // namespace plait
