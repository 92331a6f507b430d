#pragma once

namespace plait {

// Prints the nanoseconds that each elementwise loop of this processor's instruction set takes for
// an element, with one thread and all numbers in the first cache.
void PrintLoopTimes();

}  // namespace plait
