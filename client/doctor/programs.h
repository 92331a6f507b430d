#pragma once

#include <string>

#include "absl/time/time.h"
#include "client/doctor/finding.h"

namespace plait {

// Whether the folder can be used as a cache, or could be made; how much lies in it and how much
// room there is. Makes and changes nothing.
Finding CacheFinding(const std::string& folder);

// Whether `program` is a plaitd of this version.
Finding DaemonFinding(const std::string& program, const std::string& version);

// Whether the worker's own check finds every kernel right: some seconds.
Finding WorkerFinding(const std::string& program);

}  // namespace plait
