#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "client/command.h"

namespace plait {

// A shell for which there is a completion.
struct CompletionShell {
  absl::string_view name;  // "bash"
  // A script that the shell reads: it completes verbs, their options, and files where the verb or
  // the option takes one. All of it follows from the verbs' own tables.
  std::string (*script)(absl::Span<const Command* const> commands);
};

// Valid for as long as the program.
absl::Span<const CompletionShell> CompletionShells();

}  // namespace plait
