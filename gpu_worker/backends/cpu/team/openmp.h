#pragma once

namespace plait {

// oneDNN divides its work by OpenMP, whose threads would stand beside those of our team and take
// its processors. The functions of GCC's OpenMP library that oneDNN calls are therefore defined by
// us (openmp.cc), and a program's own functions come before those of its libraries: a parallel
// region of oneDNN runs on the Team that the calling thread leads, as wide as TeamWidth() says.
// Where no team is led, a region runs on the calling thread alone.
//
// Whether the program was linked so that this holds. It is not where a library that was loaded
// before brought its own OpenMP along: oneDNN then starts threads of its own.
bool OpenMpRunsOnTeam();

}  // namespace plait
