#pragma once

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
    if (is_capturing_) {
      captured_us_ += us_of_launch;
    } else if (!computes) {
      return Ok();
    }
    return DriverRuntime::LaunchKernel(kernel, shape, arguments, stream);
  }
  Status Fill(void* to, int byte, size_t bytes, Stream stream) override {
    is_filled_ = !is_capturing_;
    return DriverRuntime::Fill(to, byte, bytes, stream);
  }
  Status LaunchGraph(GraphExec exec, Stream stream) override {
    PLAIT_CUDA_RETURN_IF_ERROR(ClockRuntime::LaunchGraph(exec, stream));
    return std::exchange(is_filled_, false) ? DriverRuntime::LaunchGraph(exec, stream) : Ok();
  }
  Result<NodeDescription> DescribeNode(GraphNode /*node*/) override {
    return NodeDescription{.kind = NodeDescription::Kind::kKernel,
                           .grid = {static_cast<unsigned>(share_ * kTimedMultiprocessors), 1, 1},
                           .blocks_per_multiprocessor = 1};
  }

  bool is_capturing() const { return is_capturing_; }

  double us_of_launch = 0;
  bool computes = true;  // false: launches that are not captured do nothing

 private:
  double UsOf(Graph /*graph*/) override { return std::exchange(captured_us_, 0); }

  bool is_capturing_ = false;
  bool is_filled_ = false;
  double captured_us_ = 0;
  double share_ = 1;
};

}  // namespace plait::cuda
