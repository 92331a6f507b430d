#pragma once

#include <map>
#include <vector>

#include "gpu_worker/backends/cuda/driver/driver_runtime.h"

namespace plait::cuda {

// A simulated device with a clock, which only launches of graphs move: each by what UsOf says of
// the graph when it is made executable. They compute nothing.
class ClockRuntime : public DriverRuntime {
 public:
  using DriverRuntime::DriverRuntime;

  Result<GraphExec> Instantiate(Graph graph) override {
    Result<GraphExec> exec = DriverRuntime::Instantiate(graph);
    if (exec.ok()) us_of_[exec.value()] = UsOf(graph);
    return exec;
  }
  Status LaunchGraph(GraphExec exec, Stream /*stream*/) override {
    Pass(us_of_[exec]);
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

  std::vector<double> spans_us;

 protected:
  void Pass(double us) { now_us_ += us; }

 private:
  virtual double UsOf(Graph graph) = 0;

  double now_us_ = 0;
  std::map<GraphExec, double> us_of_;
  std::map<Event, double> recorded_us_;
};

}  // namespace plait::cuda
