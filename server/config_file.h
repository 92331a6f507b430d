#pragma once

#include "server/config.h"

namespace plait {

// The settings in a TOML file; lists are joined by commas.
// Errors: NotFound; InvalidArgument naming the place of a fault.
// Read once at the start: a change needs a restart. The file is the operator's and trusted, but for
// mistakes, which MakeConfig finds.
absl::StatusOr<SettingValues> ReadConfigFile(const std::string& path);

// The settings in environment variables PLAIT_*, given as "NAME=value" up to a null pointer.
// Names in lower case and without the prefix; a value may be empty.
SettingValues SettingsFromEnvironment(const char* const* environment);

}  // namespace plait
