#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

// The command lines of plait, plaitd and plait-worker: each describes its options as constants, and
// parsing, checking and help texts follow from the description. Pure and thread-safe.
namespace plait {

// What the value of an option has to look like; checked when the command line is parsed.
enum class OptionKind {
  kSwitch,   // no value
  kText,     // not empty
  kAnyText,  // also empty
  kInteger,  // 0 or more
  kNumber,   // finite, 0 or more
  kSeconds,  // "60s", "1.5", "2m", "1h"
};

// An option of a program or verb: a constant.
// Its texts are literals or live as long; nothing is copied.
struct OptionSpec {
  absl::string_view name;  // "--device"
  OptionKind kind = OptionKind::kSwitch;
  absl::string_view value;            // how help texts call the value, such as "SECONDS"
  absl::string_view help;             // what help texts say; '\n' begins a new line of it
  absl::string_view short_name = "";  // "-o"
  // What a value must be besides: "" when it is that, else what was expected, as in "NAME=DIMS".
  // nullptr: the kind says it all.
  absl::string_view (*expected)(absl::string_view value) = nullptr;
};

// The words of a command line, checked. Accessors need options of the right kind.
// A value: it keeps nothing of the words that it was made from.
class Arguments {
 public:
  // What is no option, in order.
  const std::vector<std::string>& positionals() const { return positionals_; }

  // Whether the option was given, under its long or its short name. `option` is the long one, here
  // and below.
  bool Has(absl::string_view option) const;

  // The value given last, or `fallback` when there is none.
  std::string Text(absl::string_view option, absl::string_view fallback = "") const;
  // REQUIRES: the option's kind is the accessor's; the value was checked when it was parsed.
  int64_t Integer(absl::string_view option, int64_t fallback = 0) const;
  double Number(absl::string_view option, double fallback = 0) const;
  double Seconds(absl::string_view option, double fallback = 0) const;

  // All values given, in order: for options that may be given several times.
  std::vector<std::string> Texts(absl::string_view option) const;

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
// One message for every mistake of a user, before anything has happened: no program of plait does
// part of its work and then finds a word that it does not know.
absl::StatusOr<Arguments> ParseArguments(absl::Span<const std::string> words,
                                         absl::Span<const OptionSpec> options,
                                         absl::string_view positionals);

// Whether the words ask for help, by "--help" or "-h" before "--". To be asked before they are
// parsed, so that help is given also to whoever made a mistake.
bool AsksForHelp(absl::Span<const std::string> words);

// The lines of a help text that describe the options, the help behind a left column of at least
// `width` letters.
// In the order of `options`; lines are as long as their texts, nothing is wrapped.
std::string HelpTextOf(absl::Span<const OptionSpec> options, int width);

// "60s", "1.5", "2m" or "1h" in seconds.
// Errors: InvalidArgument.
absl::StatusOr<double> ParseSeconds(absl::string_view text);

}  // namespace plait
