#pragma once

#include <string>
#include <vector>

#include "client/command.h"

namespace plait {

// The whole program but for what main takes from the machine. `words` are the arguments behind the
// program's name. Prints help, results and errors, and returns the exit code.
//
// One word chooses the verb; help, unknown words and missing arguments are answered here, so that
// verbs see checked arguments only. Not thread-safe. Never throws and never exits: whoever calls
// decides what the code means.
ExitCode RunCli(const std::vector<std::string>& words, Console& console, Interrupts& interrupts,
                const Environment& environment);

// The text of `plait --help` and of `plait VERB --help`.
// Both end with a line feed and are the same on every machine.
std::string HelpText();
std::string HelpText(const Command& command);

}  // namespace plait
