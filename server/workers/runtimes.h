#pragma once

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "plait/v1/capability.pb.h"

namespace plait {

// Runtimes of this machine that run whole ONNX models, as the daemon sees them. Thread-safe.
class Runtimes {
 public:
  virtual ~Runtimes() = default;

  // What there is on this machine. A value; constant once it is known.
  struct Found {
    std::vector<v1::Device> devices;  // by id; a worker calls with this very device
    std::vector<v1::MissingRuntime> missing;
  };

  // Waits until it is known, at most so long; nothing is there then. Whoever asks first, waits: an
  // interpreter takes a tenth of a second to answer.
  virtual Found Await(absl::Duration time_max) = 0;

  // Starts the worker of a runtime that is there, unless it runs. Others are ignored: they are of
  // other hosts. Never blocks.
  virtual void StartWorker(const std::string& id) = 0;
};

// 20 s: a machine that is busy starts an interpreter in one.
inline constexpr absl::Duration kRuntimesWait = absl::Seconds(20);

// The devices in `connected` that are runtimes, and those of this machine that are not connected
// now; by id, one for each. Pure.
std::vector<v1::Device> RuntimesOf(const Runtimes::Found& here,
                                   const std::vector<v1::Device>& connected);

}  // namespace plait
