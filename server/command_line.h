#pragma once

#include <optional>
#include <string>

#include "server/config.h"

namespace plait {

// What plaitd's command line asks for.
struct CommandLine {
  // By the setting's name, with '_'; the checks and the defaults are MakeConfig's.
  SettingValues flags;           // the settings given, as text
  std::string config_file;       // empty: none
  std::optional<int> exit_code;  // set: `output` is all there is to do (help, version, a mistake)
  std::string output;            // for standard output when exit_code is 0, else standard error
};

// Reads the words that main was given; there is a flag for every row of Settings. A wish for help
// wins over a mistake in the rest. Values are checked by MakeConfig,
// with those of the other sources.
// Pure: nothing is printed, and the process goes on. Exit code 2 is for a mistake. REQUIRES: argc
// counts the program's own name, as main's does.
CommandLine ParseCommandLine(int argc, const char* const* argv, const std::string& version);

}  // namespace plait
