#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace plait {

// The folder of the program that runs, without a slash at its end; "." where the system does not
// tell. By the kernel's link and not argv[0], which is whatever the caller wrote there.
std::string ProgramFolder();

// Where Python finds what plait's programs run by it, for PYTHONPATH: beside the programs where
// they were built, and where they are installed.
std::string PythonPackagesOf(absl::string_view program_folder);

}  // namespace plait
