#pragma once

#include <map>
#include <utility>
#include <vector>

#include "gpu_worker/backends/cuda/driver/driver_runtime.h"
#include "tests/gpu_worker/backends/cuda/run/timing_fixture.h"

namespace plait::cuda {

// A simulated device whose graphs compute nothing and take time: as long, and as much of the
// device, as what is captured in them says with Note(), and `us_of_launch` for each kernel.
class ScriptedRuntime : public DriverRuntime {
 public:
  using DriverRuntime::DriverRuntime;

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
  Result<NodeDescription> DescribeNode(GraphNode /*node*/) override {
    return NodeDescription{.kind = NodeDescription::Kind::kKernel,
                           .grid = {static_cast<unsigned>(share_ * kTimedMultiprocessors), 1, 1},
                           .blocks_per_multiprocessor = 1};
  }
  Result<GraphExec> Instantiate(Graph graph) override {
    Result<GraphExec> exec = DriverRuntime::Instantiate(graph);
    if (exec.ok()) us_of_[exec.value()] = std::exchange(captured_us_, 0);
    return exec;
  }
  Status LaunchGraph(GraphExec exec, Stream /*stream*/) override {
    now_us_ += us_of_[exec];
    return Ok();
  }
  Status RecordEvent(Event event, Stream stream) override {
    recorded_us_[event] = now_us_;
    return DriverRuntime::RecordEvent(event, stream);
  }
  Result<double> ElapsedUs(Event begin, Event end) override {
    spans_us.push_back(recorded_us_[end] - recorded_us_[begin]);
    return spans_us.back();
  }

  double us_of_launch = 0;
  bool computes = true;  // false: launches that are not captured do nothing
  std::vector<double> spans_us;

 private:
  bool is_capturing_ = false;
  double captured_us_ = 0;
  double share_ = 1;
  double now_us_ = 0;
  std::map<GraphExec, double> us_of_;
  std::map<Event, double> recorded_us_;
};

}  // namespace plait::cuda
