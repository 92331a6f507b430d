#include "optimizer/onnx/bind_inputs.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"

namespace plait {

namespace {

absl::Status InputError(const ModelValue& input, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("input '", input.name, "': ", what));
}

// The option that would bind the input, with 1 for every open dimension.
std::string ShapeOption(const ModelValue& input) {
  const std::string shape =
      absl::StrJoin(input.shape, "x", [](std::string* out, const Dimension& dim) {
        absl::StrAppend(out, dim.known() ? dim.size : 1);
      });
  return absl::StrCat("give it with --shape ", input.name, "=", shape.empty() ? "1x1" : shape);
}

// Checks a given shape against the declared one and learns the sizes of its symbols.
absl::Status LearnShape(const ModelValue& input, const Shape& shape, SymbolSizes* symbols) {
  if (!IsValidShape(shape)) {
    return InputError(input, absl::StrCat("the shape given, ", ShapeToString(shape),
                                          ", has a negative dimension or is larger than allowed"));
  }
  if (!input.has_shape) return absl::OkStatus();
  if (shape.size() != input.shape.size()) {
    return InputError(
        input, absl::StrCat("the shape given, ", ShapeToString(shape), ", has rank ", shape.size(),
                            ", but the model declares ", input.TypeToString()));
  }
  for (size_t index = 0; index < shape.size(); ++index) {
    const Dimension& dim = input.shape[index];
    if (dim.known() && dim.size != shape[index]) {
      return InputError(input, absl::StrCat("dimension ", index, " is ", dim.size,
                                            " in the model, but given as ", shape[index]));
    }
    if (dim.known() || dim.symbol.empty()) continue;
    const auto [known, added] = symbols->emplace(dim.symbol, shape[index]);
    if (!added && known->second != shape[index]) {
      return InputError(
          input, absl::StrCat("dimension ", index, " ('", dim.symbol, "') is given as ",
                              shape[index], ", but as ", known->second, " by another input"));
    }
  }
  return absl::OkStatus();
}

// The type of an input that no shape was given to.
absl::StatusOr<TensorType> TypeFromSymbols(const ModelValue& input, const SymbolSizes& symbols) {
  if (!input.has_shape) {
    return InputError(input, absl::StrCat("its shape is not known (", ShapeOption(input), ")"));
  }
  TensorType type{input.dtype, {}};
  for (size_t index = 0; index < input.shape.size(); ++index) {
    const Dimension& dim = input.shape[index];
    const auto symbol = symbols.find(dim.symbol);
    if (!dim.known() && (dim.symbol.empty() || symbol == symbols.end())) {
      const std::string name = dim.symbol.empty() ? "" : absl::StrCat(" ('", dim.symbol, "')");
      return InputError(input, absl::StrCat("dimension ", index, name, " is not known (",
                                            ShapeOption(input), ")"));
    }
    type.shape.push_back(dim.known() ? dim.size : symbol->second);
  }
  if (!IsValidShape(type.shape)) {
    return InputError(input,
                      absl::StrCat("shape ", ShapeToString(type.shape), " is larger than allowed"));
  }
  return type;
}

}  // namespace

absl::StatusOr<BoundInputs> BindInputs(const Model& model, const Bindings& shapes) {
  // Given shapes first, so that the symbols that they settle hold for inputs listed before them
  // too.
  BoundInputs bound;
  size_t used = 0;
  for (const ModelValue& input : model.inputs()) {
    const auto given = shapes.find(input.name);
    if (given == shapes.end()) continue;
    ++used;
    PLAIT_RETURN_IF_ERROR(LearnShape(input, given->second, &bound.symbols));
  }
  // A shape that nobody takes is a misspelt name, and would else go unnoticed.
  if (used < shapes.size()) {
    for (const auto& [name, shape] : shapes) {
      const auto is_it = [&name = name](const ModelValue& input) { return input.name == name; };
      if (std::any_of(model.inputs().begin(), model.inputs().end(), is_it)) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "a shape is given for '", name, "', which is no input; inputs are ",
          absl::StrJoin(model.inputs(), ", ", [](std::string* out, const ModelValue& input) {
            absl::StrAppend(out, "'", input.name, "'");
          })));
    }
  }
  for (const ModelValue& input : model.inputs()) {
    const auto given = shapes.find(input.name);
    if (input.dtype == DataType::kUndefined) {
      bound.types.push_back(TensorType{});
    } else if (given != shapes.end()) {
      bound.types.push_back(TensorType{input.dtype, given->second});
    } else {
      PLAIT_ASSIGN_OR_RETURN(TensorType type, TypeFromSymbols(input, bound.symbols));
      bound.types.push_back(std::move(type));
    }
  }
  return bound;
}

// Unlike TypeFromSymbols this never fails: a declaration of a result is a hint, an input's is not.
TensorType ResolveType(const ModelValue& value, const SymbolSizes& symbols) {
  if (value.dtype == DataType::kUndefined || !value.has_shape) return TensorType{};
  TensorType type{value.dtype, {}};
  for (const Dimension& dim : value.shape) {
    const auto symbol = symbols.find(dim.symbol);
    if (!dim.known() && (dim.symbol.empty() || symbol == symbols.end())) return TensorType{};
    type.shape.push_back(dim.known() ? dim.size : symbol->second);
  }
  return IsValidShape(type.shape) ? type : TensorType{};
}

}  // namespace plait
