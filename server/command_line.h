#pragma once

#include <optional>
#include <string>

#include "server/config.h"

namespace plait {

struct CommandLine {
  SettingValues flags;
  std::string config_file;       // empty: none
  std::optional<int> exit_code;  // set: `output` is all there is to do (help, version, a mistake)
  std::string output;
};

// The only user of the flags library, whose exceptions end here.
CommandLine ParseCommandLine(int argc, const char* const* argv, const std::string& version);

}  // namespace plait
