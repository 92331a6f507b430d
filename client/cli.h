#pragma once

#include <string>
#include <vector>

#include "client/command.h"

namespace plait {

// The whole program but for what main takes from the machine. `words` are the arguments behind the
// program's name. Prints help, results and errors, and returns the exit code.
ExitCode RunCli(const std::vector<std::string>& words, Console& console, Interrupts& interrupts,
                const Environment& environment);

// The text of `plait --help` and of `plait VERB --help`.
std::string HelpText();
std::string HelpText(const Command& command);

}  // namespace plait
