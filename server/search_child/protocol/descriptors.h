#pragma once

namespace plait {

// Part of the protocol: daemon and child are one build, so the numbers may change with a release.
// Standard error carries last words only, which nobody parses.
// The descriptors that a search child inherits, besides its standard error.
constexpr int kChildSocket = 3;
constexpr int kChildModel = 4;
constexpr int kChildOutput = 5;
constexpr int kChildWeights = 6;
constexpr int kChildBlobs = 7;

// How a child ends that has met one of its limits.
// Processor time and file size end it by signal (SIGXCPU, SIGXFSZ); memory has no signal, so the
// child says it with an exit code of its own.
constexpr int kMemoryLimitExit = 86;

}  // namespace plait
