#pragma once

#include <string>

#include "plait/v1/report.pb.h"

namespace plait {

// Why the original was returned although something was predicted to be faster: what the best
// candidate lost by, and what would accept it, in words that stand behind "kept". Empty where
// something else was returned, or nothing was refused. Pure.
std::string KeptText(const v1::Report& report);

}  // namespace plait
