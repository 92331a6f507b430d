#pragma once

#include <optional>
#include <string>
#include <vector>

namespace plait {

// How long the threads of OpenMP wait for their next work. Spinning is what makes short kernels
// fast: waking a thread that sleeps takes 50 to 90 us, which each parallel region would pay. A
// program that has nothing to do must not spin. So threads spin for about a millisecond after their
// last work, and then sleep.
//
// libgomp reads this from the environment when it is loaded, which is before main begins.

// The environment of a program whose threads spin so: `environment`, as "NAME=value", and
// GOMP_SPINCOUNT, which counts pauses of this processor. Nothing when somebody has chosen already:
// OMP_WAIT_POLICY or GOMP_SPINCOUNT is there.
// Takes some tenths of a millisecond, to time the pauses.
std::optional<std::vector<std::string>> WithShortSpinning(std::vector<std::string> environment);

// Starts this program again in its own place, with the same arguments (argv, the program's name
// included) and with WithShortSpinning of the process's environment. The process keeps its id, its
// parent and its open files, and its threads but the caller end: to be called first in main.
// Returns when the environment needs no change, or when the program cannot be started again, as
// where there is no /proc: then its threads spin for as long as libgomp likes, which is no error.
void RestartWithShortSpinning(char** arguments);

}  // namespace plait
