#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace plait {

// Reads one line of a text form, left to right. Every method skips spaces first; one that fails
// leaves the position where it was. The text may be hostile: nothing is allocated beyond its
// length. The line must outlive the scanner. Not thread-safe.
class TextScanner {
 public:
  explicit TextScanner(absl::string_view line) : rest_(line) {}

  // True when nothing but spaces is left.
  bool AtEnd();

  // True when `token` comes next.
  bool Sees(absl::string_view token);

  // Goes past `token` when it comes next.
  bool Consume(absl::string_view token);

  // Errors (of all below): InvalidArgument saying what was expected and what stands there.
  absl::Status Expect(absl::string_view token);
  absl::Status ExpectEnd();

  // An integer in [low, high].
  absl::StatusOr<int64_t> Integer(int64_t low, int64_t high);

  // A name of the format's own: an operator, a type, a keyword.
  // Letters, digits and any of "_+-.:/"; at least one.
  absl::StatusOr<absl::string_view> Word();

  // The unescaped contents of a double-quoted string (see Quote).
  absl::StatusOr<std::string> Quoted();

  // What AppendName printed.
  absl::StatusOr<std::string> Name();

 private:
  absl::Status Expected(absl::string_view what);

  absl::string_view rest_;
};

// The text in double quotes, on one line whatever it contains.
std::string Quote(absl::string_view text);

// Appends a name: bare when it is made of [A-Za-z0-9_.:/-] and ends in no colon (which would run
// into the text behind it), else quoted.
void AppendName(absl::string_view name, std::string* text);

}  // namespace plait
