#include "optimizer/onnx/assume_batch.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace plait {
namespace {

using Sizes = absl::flat_hash_map<std::string, int64_t>;

// As exporters write it, in small letters.
constexpr absl::string_view kBatchNames[] = {"n", "b", "bs", "batchsize", "num_batch"};
constexpr absl::string_view kLengthParts[] = {"seq", "len", "time", "token", "step"};

Sizes SettledSizes(const Model& model, const Bindings& shapes) {
  Sizes sizes;
  for (const ModelValue& input : model.inputs()) {
    const auto given = shapes.find(input.name);
    if (given == shapes.end() || given->second.size() != input.shape.size()) continue;
    for (size_t axis = 0; axis < input.shape.size(); ++axis) {
      const std::string& symbol = input.shape[axis].symbol;
      if (!symbol.empty()) sizes.emplace(symbol, given->second[axis]);
    }
  }
  return sizes;
}

// nullopt: another dimension is open. `assumed` gets the axes that became 1.
std::optional<Shape> ShapeOf(const ModelValue& input, const Sizes& settled,
                             std::vector<size_t>* assumed) {
  Shape shape;
  for (size_t axis = 0; axis < input.shape.size(); ++axis) {
    const Dimension& dimension = input.shape[axis];
    const auto size = settled.find(dimension.symbol);
    if (dimension.known()) {
      shape.push_back(dimension.size);
    } else if (!dimension.symbol.empty() && size != settled.end()) {
      shape.push_back(size->second);
    } else if (IsBatchLike(dimension, axis)) {
      shape.push_back(1);
      assumed->push_back(axis);
    } else {
      return std::nullopt;
    }
  }
  return shape;
}

}  // namespace

bool IsBatchLike(const Dimension& dimension, size_t axis) {
  if (dimension.known()) return false;
  const std::string name = absl::AsciiStrToLower(dimension.symbol);
  const bool has_name =
      absl::StrContains(name, "batch") ||
      std::find(std::begin(kBatchNames), std::end(kBatchNames), name) != std::end(kBatchNames);
  if (has_name) return true;
  return axis == 0 &&
         std::none_of(std::begin(kLengthParts), std::end(kLengthParts),
                      [&](absl::string_view part) { return absl::StrContains(name, part); });
}

Bindings WithBatchOfOne(const Model& model, Bindings shapes, std::vector<std::string>* assumed) {
  const Sizes settled = SettledSizes(model, shapes);
  for (const ModelValue& input : model.inputs()) {
    if (!input.has_shape || shapes.contains(input.name)) continue;
    std::vector<size_t> axes;
    std::optional<Shape> shape = ShapeOf(input, settled, &axes);
    if (!shape.has_value() || axes.empty()) continue;
    for (const size_t axis : axes) {
      const std::string& symbol = input.shape[axis].symbol;
      assumed->push_back(absl::StrCat("dimension ", axis, " (", symbol.empty() ? "unnamed" : symbol,
                                      ") of ", input.name));
    }
    shapes[input.name] = *std::move(shape);
  }
  return shapes;
}

}  // namespace plait
