#include "server/search_child/shape_variables.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "proto/wire/error.h"

namespace plait {
namespace {

const ModelValue* FindInput(const Model& model, absl::string_view name) {
  const auto is_it = [&](const ModelValue& input) { return input.name == name; };
  const auto found = std::find_if(model.inputs().begin(), model.inputs().end(), is_it);
  return found == model.inputs().end() ? nullptr : &*found;
}

absl::Status AddVariables(const Model& model, const std::string& name, const v1::ShapeRange& range,
                          ShapeVariables* variables) {
  const ModelValue* const input = FindInput(model, name);
  if (input == nullptr) {
    return InvalidPlans(absl::StrCat("options.shape_ranges: '", name, "' is no input"));
  }
  for (int axis = 0; axis < range.dims_size(); ++axis) {
    const v1::DimRange& dim = range.dims(axis);
    const bool has_symbol =
        static_cast<size_t>(axis) < input->shape.size() && !input->shape[axis].symbol.empty();
    const std::string key =
        has_symbol ? input->shape[axis].symbol : absl::StrCat(name, "[", axis, "]");
    const auto [entry, added] =
        variables->try_emplace(key, ShapeVariable{dim.low(), dim.high(), {}});
    ShapeVariable& variable = entry->second;
    if (!added && (variable.low != dim.low() || variable.high != dim.high())) {
      return InvalidPlans(absl::StrCat("options.shape_ranges: dimension ", axis, " ('", key,
                                       "') of '", name, "' is given as ", dim.low(), "..",
                                       dim.high(), ", but as ", variable.low, "..", variable.high,
                                       " by another input"));
    }
    variable.places.emplace_back(name, axis);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status InvalidPlans(absl::string_view what) {
  return wire::Error(v1::ERROR_REASON_INVALID_REQUEST, what);
}

absl::StatusOr<ShapeVariables> VariablesOf(const Model& model, const v1::OptimizeOptions& options) {
  ShapeVariables variables;
  // Sorted, because the order of a protobuf map changes from run to run.
  const std::map<std::string, v1::ShapeRange> ranges(options.shape_ranges().begin(),
                                                     options.shape_ranges().end());
  for (const auto& [name, range] : ranges) {
    PLAIT_RETURN_IF_ERROR(AddVariables(model, name, range, &variables));
  }
  return variables;
}

std::vector<int64_t> BucketsOf(const ShapeVariable& variable) {
  std::vector<int64_t> sizes = {variable.low};
  for (int64_t size = 1; size < variable.high; size *= 2) {
    if (size > variable.low) sizes.push_back(size);
  }
  if (variable.high > variable.low) sizes.push_back(variable.high);
  return sizes;
}

}  // namespace plait
