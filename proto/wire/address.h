#pragma once

#include "absl/strings/string_view.h"

namespace plait::wire {

// Whether an address, "host:port" or "unix:path", can be reached from this machine only: a unix
// socket, "localhost", or a loopback address in numbers. No other name is, whatever it begins with,
// because what it stands for is somebody else's choice. No name is looked up.
bool IsLocalAddress(absl::string_view address);

}  // namespace plait::wire
