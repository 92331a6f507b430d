#pragma once

#include <chrono>
#include <optional>

namespace plait {

// How long a thread has been ready to run and has waited for a core since it began, as the system
// counts it. The file is the calling thread's, whoever reads it; negative: the system has none.
int OpenWaitingTime();
std::optional<std::chrono::nanoseconds> ReadWaitingTime(int file);

}  // namespace plait
