#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/arguments.h"
#include "client/console.h"
#include "client/exit_code.h"
#include "client/interrupts.h"

namespace plait {

// What main knows of the machine.
struct Environment {
  std::string program_folder;  // where this program is; plaitd lies beside it
  std::string cache_folder;    // where embedded servers live unless --cache-dir says otherwise
  std::string server;          // the address used when --server is not given; empty: embedded
  // The Python that has other runtimes: a path, or a name that is searched for in PATH; "none".
  std::string runtimes_python = "python3";
};

// Lives for one run of a verb; everything in it is borrowed.
struct CommandContext {
  const Arguments& arguments;
  Console& console;
  Interrupts& interrupts;
  const Environment& environment;
};

// A verb: a constant, defined in the file named after it and listed in commands.def.
//
// No verb reads the environment or writes to standard streams by itself: what it knows and where it
// writes comes with the context, so a test runs it as main does.
struct Command {
  absl::string_view name;
  absl::string_view positionals;  // "MODEL [MODEL2]"
  absl::string_view summary;      // one line for the list of verbs
  absl::string_view examples;     // whole lines, each a command that works
  // The options, a function so that verbs can share some.
  std::vector<OptionSpec> (*options)();
  // Does it. A status is reported by the caller, with the exit code of its reason.
  // An exit code is returned by a verb that has said all there is to say. Errors: those of what the
  // verb does; nothing was printed for them yet.
  absl::StatusOr<ExitCode> (*run)(const CommandContext& context);
};

// A verb that is listed but not defined does not link.
#define PLAIT_COMMAND(name) extern const Command k##name##Command;
#include "client/commands.def"
#undef PLAIT_COMMAND

// In the order in which help texts show them.
// Valid for as long as the program.
absl::Span<const Command* const> AllCommands();

// All that the verb takes: its own options, and --json, which every verb has.
std::vector<OptionSpec> OptionsOf(const Command& command);

}  // namespace plait
