#pragma once

namespace plait {

// The descriptors that a search child inherits, besides its standard error.
constexpr int kChildSocket = 3;
constexpr int kChildModel = 4;
constexpr int kChildOutput = 5;

// How a child ends that has met one of its limits.
constexpr int kMemoryLimitExit = 86;

}  // namespace plait
