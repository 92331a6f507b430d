#pragma once

#include <optional>
#include <utility>

#include "tests/gpu_worker/backends/cuda/run/clock_runtime.h"
#include "tests/gpu_worker/backends/cuda/run/timing_fixture.h"

namespace plait::cuda {

// A simulated device whose graphs take time: as long, and as much of the device, as what is
// captured in them says with Note(), and `us_of_launch` for each kernel. They compute only behind a
// Fill(), as of outputs that are looked at afterwards: simulating all launches would take minutes.
class ScriptedRuntime : public ClockRuntime {
 public:
  using ClockRuntime::ClockRuntime;

  void Note(double us, double share) {
    if (!is_capturing_) return;
    captured_us_ += us;
    share_ = share;
  }

  Status BeginCapture(Stream stream) override {
    is_capturing_ = true;
    return DriverRuntime::BeginCapture(stream);
  }
  Result<Graph> EndCapture(Stream stream) override {
    is_capturing_ = false;
    return DriverRuntime::EndCapture(stream);
  }
  Status LaunchKernel(Kernel kernel, const LaunchShape& shape, void** arguments,
                      Stream stream) override {
    const bool is_wide = shape.grid[0] * shape.grid[1] * shape.grid[2] > 1;
    const double us = is_wide ? us_of_wide_launch.value_or(us_of_launch) : us_of_launch;
    if (is_capturing_) {
      captured_us_ += us;
    } else {
      Begin();
      Pass(us);
      if (!computes) return Ok();
    }
    return DriverRuntime::LaunchKernel(kernel, shape, arguments, stream);
  }
  Status Fill(void* to, int byte, size_t bytes, Stream stream) override {
    is_filled_ = !is_capturing_;
    return DriverRuntime::Fill(to, byte, bytes, stream);
  }
  Status LaunchGraph(GraphExec exec, Stream stream) override {
    Begin();
    PLAIT_CUDA_RETURN_IF_ERROR(ClockRuntime::LaunchGraph(exec, stream));
    return std::exchange(is_filled_, false) ? DriverRuntime::LaunchGraph(exec, stream) : Ok();
  }
  Status Synchronize(Stream stream) override {
    Idle();
    return DriverRuntime::Synchronize(stream);
  }
  Result<NodeDescription> DescribeNode(GraphNode /*node*/) override {
    return NodeDescription{.kind = NodeDescription::Kind::kKernel,
                           .grid = {static_cast<unsigned>(share_ * kTimedMultiprocessors), 1, 1},
                           .blocks_per_multiprocessor = 1};
  }

  bool is_capturing() const { return is_capturing_; }
  // The host does something else until all has run.
  void Idle() { is_idle_ = true; }
  // Something runs that leaves nothing in the caches.
  void LeaveCold() {
    is_idle_ = false;
    is_cold_ = true;
  }

  double us_of_launch = 0;
  std::optional<double> us_of_wide_launch;  // of several blocks; none: the same
  double us_of_start = 0;                   // of a graph
  double us_of_host = 0;                    // that an idle device waits for a launch
  double us_of_memory = 0;                  // what a launch takes longer where caches are cold
  bool computes = true;                     // false: launches that are not captured do nothing

 private:
  double UsOf(Graph /*graph*/) override { return us_of_start + std::exchange(captured_us_, 0); }
  void Begin() {
    if (std::exchange(is_idle_, false)) Pass(us_of_host);
    if (std::exchange(is_cold_, false)) Pass(us_of_memory);
  }

  bool is_capturing_ = false;
  bool is_idle_ = true;
  bool is_cold_ = false;
  bool is_filled_ = false;
  double captured_us_ = 0;
  double share_ = 1;
};

}  // namespace plait::cuda
