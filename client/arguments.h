#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "optimizer/ir/tensor_type.h"

namespace plait {

// What the value of an option has to look like; checked when the command line is parsed.
enum class OptionKind {
  kSwitch,   // no value
  kText,     // not empty
  kInteger,  // 0 or more
  kNumber,   // finite, 0 or more
  kSeconds,  // "60s", "1.5", "2m", "1h"
  kShape,    // "NAME=1x3x224x224"; may be given several times
};

// An option of a command: a constant.
struct OptionSpec {
  absl::string_view name;  // "--device"
  OptionKind kind = OptionKind::kSwitch;
  absl::string_view value;  // how help texts call the value, such as "SECONDS"
  absl::string_view help;
  absl::string_view short_name = "";  // "-o"
};

// The words of a command line after the verb, checked. Accessors need options of the right kind.
class Arguments {
 public:
  const std::vector<std::string>& positionals() const { return positionals_; }
  bool Has(absl::string_view option) const;

  // The value given last, or `fallback` when there is none.
  std::string Text(absl::string_view option, absl::string_view fallback = "") const;
  int64_t Integer(absl::string_view option, int64_t fallback = 0) const;
  double Number(absl::string_view option, double fallback = 0) const;
  double Seconds(absl::string_view option, double fallback = 0) const;
  std::vector<std::pair<std::string, Shape>> Shapes(absl::string_view option) const;

 private:
  friend absl::StatusOr<Arguments> ParseArguments(absl::Span<const std::string> words,
                                                  absl::Span<const OptionSpec> options,
                                                  absl::string_view positionals);

  absl::btree_map<std::string, std::vector<std::string>> values_;  // by option
  std::vector<std::string> positionals_;
};

// Reads "--name value", "--name=value", "-o value", switches and positionals in any order; behind
// "--" everything is a positional. `positionals` names those there are: "MODEL [MODEL2]".
// Errors: InvalidArgument naming the word and, for an unknown option, the nearest one.
absl::StatusOr<Arguments> ParseArguments(absl::Span<const std::string> words,
                                         absl::Span<const OptionSpec> options,
                                         absl::string_view positionals);

// "60s", "1.5", "2m" or "1h" in seconds. Errors: InvalidArgument.
absl::StatusOr<double> ParseSeconds(absl::string_view text);

// "NAME=1x3x224x224"; "NAME=" is a scalar. Errors: InvalidArgument.
absl::StatusOr<std::pair<std::string, Shape>> ParseNamedShape(absl::string_view text);

}  // namespace plait
