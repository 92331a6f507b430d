#pragma once

#include <string>
#include <vector>

#include "client/doctor/finding.h"

namespace plait {

// Which runtimes besides plait a Python has. It is asked, which takes some tenths of a second.
// `interpreter`: a path, or a name that is searched for in PATH; "none": no Python may be asked.
// `package_path`: where it finds plait_runtime_worker. What is missing is a note: plait needs none.
std::vector<Finding> RuntimeFindings(const std::string& interpreter,
                                     const std::string& package_path);

// One that is not there, and why.
Finding MissingRuntimeFinding(const std::string& name, const std::string& why);

}  // namespace plait
