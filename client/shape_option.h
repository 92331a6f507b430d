#pragma once

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/arguments.h"
#include "optimizer/onnx/bind.h"

// --shape NAME=DIMS, the option of every verb that reads a model: it binds symbolic dimensions of
// an input and may be given several times. Pure and thread-safe.
namespace plait {

// What is wrong with a value of --shape, for OptionSpec::expected.
// Empty when nothing is.
absl::string_view ExpectedShape(absl::string_view value);

inline constexpr OptionSpec kShapeOption = {
    "--shape", OptionKind::kText, "NAME=DIMS", "shape of an input, such as input=1x3x224x224",
    "",        ExpectedShape};

// The shapes that the arguments name; of a name that is given twice the last one.
// REQUIRES: kShapeOption was among the options parsed.
Bindings NamedShapes(const Arguments& arguments);

// "NAME=1x3x224x224"; "NAME=" is a scalar.
// Errors: InvalidArgument for another form, a dimension below 1 or too many elements.
absl::StatusOr<std::pair<std::string, Shape>> ParseNamedShape(absl::string_view text);

}  // namespace plait
