#pragma once

#include <optional>
#include <string>

#include "server/config.h"

namespace plait {

// What plaitd's command line asks for.
struct CommandLine {
  SettingValues flags;           // the settings given, as text
  std::string config_file;       // empty: none
  std::optional<int> exit_code;  // set: `output` is all there is to do (help, version, a mistake)
  std::string output;            // for standard output when exit_code is 0, else standard error
};

// Reads the words that main was given; there is a flag for every row of Settings. A wish for help
// wins over a mistake in the rest. Values are checked by MakeConfig,
// with those of the other sources.
CommandLine ParseCommandLine(int argc, const char* const* argv, const std::string& version);

}  // namespace plait
