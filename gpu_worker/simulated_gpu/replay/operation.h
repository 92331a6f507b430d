#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gpu_worker/simulated_gpu/touches.h"

namespace plait::simulated_gpu {

// What an operation does to memory, in steps that can take turns with those of other operations: a
// kernel's step is a block, a copy has only one.
class Action {
 public:
  // kWaits: it can go on when what it depends on by programmatic edges has ended.
  enum class Progress { kGoesOn, kWaits, kEnded };

  virtual ~Action() = default;

  // REQUIRES: it has not returned kEnded or an error.
  virtual absl::StatusOr<Progress> Step() = 0;
  // What it depends on by programmatic edges has ended.
  virtual void EndDependencies() {}
  // Whether what depends on it by a programmatic edge may begin before it ends.
  virtual bool triggers() const { return false; }
  // What it has touched so far, and the part of it before its griddepcontrol.wait.
  virtual Touches touches() const = 0;
  virtual Touches early_touches() const { return {}; }
  // Whether it has not ended before what it depends on by programmatic edges, since every thread of
  // it has waited for that. Asked at its end.
  virtual bool has_waited() const { return false; }
};

// A set of small numbers: who happens before whom.
class SlotSet {
 public:
  void Add(int slot);
  bool Has(int slot) const;
  void Join(const SlotSet& other);

 private:
  std::vector<uint64_t> words_;
};

struct Operation;
using OperationRef = std::shared_ptr<Operation>;

// One thing that a device has to do: a launch, copy or fill of a stream, a node of a launched
// graph, or an event's record. Made and changed by an OperationQueue alone.
struct Operation {
  enum class State { kPending, kBegun, kWaiting, kEnded, kFailed };

  std::string name;
  std::unique_ptr<Action> action;           // null: nothing is done
  std::vector<OperationRef> after;          // these end before it begins
  std::vector<OperationRef> after_trigger;  // these trigger or end before it begins
  int64_t graph_launch = 0;                 // which launch of a graph it is a node of; 0: of none

  State state = State::kPending;
  double ended_us = 0;
  // -1: the host knows that it has ended, so that it is before all that is enqueued from then on.
  int slot = -1;
  SlotSet before;       // what ends before it begins; once it has ended and waited, before it ends
  SlotSet before_late;  // what ends before it goes on behind griddepcontrol.wait
  Touches touches, early_touches;

  bool has_ended() const { return state == State::kEnded; }
};

}  // namespace plait::simulated_gpu
