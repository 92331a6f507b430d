#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/random.h"
#include "gpu_worker/simulated_gpu/device_memory.h"
#include "gpu_worker/simulated_gpu/replay/operation.h"

namespace plait::simulated_gpu {

// What a device has been given and not done yet. Nothing is done before the host waits for
// something; then a random linear extension of the order runs, in which the steps of all operations
// that are ready take turns. Not thread-safe.
//
// Whether two operations are ordered is not seen from what happened but proved from the order
// itself: each has the set of those that end before it begins, by streams, events, edges, and what
// the host had waited for when it was enqueued. Two that touch the same bytes, one of them writing,
// and neither of which is in the other's set, are a race, in whichever order they ran. By an
// example: of the edges a -> b, a -> c, b -> d the sets are b {a}, c {a}, d {a, b}; if c and d
// write to one place, that is a race.
//
// A programmatic edge a -> b orders less: b may begin as soon as a has begun, if a's kernel
// triggers. What b does before its griddepcontrol.wait may only read what no node of its graph
// writes; what it does behind is after a. Whoever is after b is after a too only if each thread of
// b has waited: then b ends after a has ended.
class OperationQueue {
 public:
  // `memory` gives names to bytes; not owned. `seed`: of the orders.
  OperationQueue(DeviceMemory* memory, uint64_t seed) : memory_(memory), random_(seed) {}

  void SetSeed(uint64_t seed) { random_ = Random(seed); }
  uint64_t NextSeed() { return random_.Next(); }

  // Takes name, action, edges and graph_launch from `operation`.
  OperationRef Enqueue(Operation operation);

  // Runs until it has ended, and more. From then on the host knows of it and all before it.
  // Errors: those of the actions; kAborted for a race, which names both operations and the bytes.
  // The first one stays: nothing runs after it.
  absl::Status WaitFor(const OperationRef& operation);
  absl::Status WaitForAll();
  // Runs everything, of which the host then knows nothing.
  absl::Status RunAll();

  const absl::Status& status() const { return status_; }
  // Whether the host knows that everything has ended, so that nothing is remembered.
  bool is_forgotten() const { return known_.empty(); }

  // The names of the operations in the order in which they ended, since the last call; the last
  // ones where there were very many.
  std::vector<std::string> TakeTrace() { return std::exchange(trace_, {}); }

 private:
  bool CanStep(const Operation& operation) const;
  // A random one of those that can go on, or null.
  OperationRef Pick();
  void Step(Operation* operation);
  void End(Operation* operation, Operation::State state);
  // After a failure: runs what is not behind it, for what the rest touches may be the reason, such
  // as bytes that nobody has written because their writer was not waited for.
  void Diagnose();
  // Whoever is after it is after what it has waited for.
  void HandOnWhatItWaitedFor(Operation* operation);
  void CheckAgainstOthers(const Operation& operation);
  absl::Status CheckPair(const Operation& a, const Operation& b) const;
  absl::Status CheckEarly(const Operation& early, const Operation& other) const;
  std::string Describe(ByteRange range) const;
  // Forgets what the host knows to have ended.
  void Forget();

  DeviceMemory* const memory_;
  Random random_;
  absl::Status status_;
  bool found_race_ = false;
  double clock_us_ = 0;
  std::vector<OperationRef> pending_;  // in the order in which they were enqueued
  std::vector<OperationRef> known_;    // all that have a slot, by slot
  SlotSet host_;                       // what the host knows to have ended
  std::vector<std::string> trace_;
};

}  // namespace plait::simulated_gpu
