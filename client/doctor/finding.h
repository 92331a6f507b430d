#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

// Map of this folder: `plait doctor`, which says what a machine offers and what hinders.
//   finding    one line of its answer
//   machine    processor, cores, other programs, memory
//   programs   the cache folder, the programs beside plait
//   runtimes   what models can be measured in besides plait
// Each check returns a finding and never fails: what cannot be found out is a finding, too.
namespace plait {

enum class FindingLevel {
  kOk,
  kNote,     // it is not needed, and something could be done with it
  kWarning,  // it works, but worse than it could
  kError,    // something does not work
};

struct Finding {
  std::string check;  // one word, such as "processor"
  FindingLevel level = FindingLevel::kOk;
  std::string text;
  std::string fix = {};  // what helps; empty for kOk
};

// "ok", "note", "warning" or "error".
constexpr absl::string_view FindingLevelName(FindingLevel level) {
  switch (level) {
    case FindingLevel::kOk:
      return "ok";
    case FindingLevel::kNote:
      return "note";
    case FindingLevel::kWarning:
      return "warning";
    default:
      return "error";
  }
}

}  // namespace plait
