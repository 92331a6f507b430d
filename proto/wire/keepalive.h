#pragma once

// How the two ends of a connection find out that the other one is gone without having said so: a
// host that lost its power, a network that was cut, a process that was stopped. Each end pings the
// other and closes the connection, with all of its calls, when no answer comes. Both ends have to
// know the other's pace: a server takes a client that pings too often for an attacker.
namespace plait::wire {

// A peer that is gone is noticed after the sum of the two, 30 s, at the latest.
constexpr int kKeepaliveIntervalMs = 20'000;
constexpr int kKeepaliveTimeoutMs = 10'000;
// Half of the interval: pings that a slow network has pushed together are no attack.
constexpr int kPingIntervalMsMin = kKeepaliveIntervalMs / 2;

}  // namespace plait::wire
