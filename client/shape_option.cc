#include "client/shape_option.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace plait {

absl::string_view ExpectedShape(absl::string_view value) {
  return ParseNamedShape(value).ok() ? "" : "NAME=DIMS such as input=1x3x224x224";
}

Bindings NamedShapes(const Arguments& arguments) {
  Bindings shapes;
  for (const std::string& text : arguments.Texts(kShapeOption.name)) {
    // Checked by ExpectedShape when the command line was parsed.
    auto [name, shape] = ParseNamedShape(text).value();
    shapes[std::move(name)] = std::move(shape);
  }
  return shapes;
}

absl::StatusOr<std::pair<std::string, Shape>> ParseNamedShape(absl::string_view text) {
  const absl::Status wrong = absl::InvalidArgumentError(absl::StrCat("\"", text, "\" is no shape"));
  // Names may hold '=': the shape is behind the last one.
  const size_t split = text.rfind('=');
  if (split == absl::string_view::npos || split == 0) return wrong;
  Shape shape;
  const absl::string_view dims = text.substr(split + 1);
  if (!dims.empty()) {
    for (const absl::string_view dim : absl::StrSplit(dims, 'x')) {
      int64_t size = 0;
      if (!absl::SimpleAtoi(dim, &size) || size < 1) return wrong;
      shape.push_back(size);
    }
  }
  if (!IsValidShape(shape)) return wrong;
  return std::make_pair(std::string(text.substr(0, split)), shape);
}

}  // namespace plait
