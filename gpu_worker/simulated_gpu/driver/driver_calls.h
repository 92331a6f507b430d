#pragma once

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "gpu_worker/simulated_gpu/driver/driver_objects.h"
#include "gpu_worker/simulated_gpu/driver/faults.h"
#include "gpu_worker/simulated_gpu/driver/simulated_driver.h"

namespace plait::simulated_gpu {

// The functions of the driver as methods of one state, with the names and types that cuda.h gives
// them. Whoever calls one holds mutex().
class DriverCalls {
 public:
  explicit DriverCalls(DriverOptions options);

#define PLAIT_DRIVER_FUNCTION(name) decltype(::name) name;
#include "gpu_worker/backends/cuda/driver/driver_functions.def"
#undef PLAIT_DRIVER_FUNCTION

  // Those of library_calls.h.
  CUresult CurrentDevice(int* device);
  CUresult CheckStream(CUstream stream);
  CUresult OptionsOf(int device, DeviceOptions* options) const;
  CUresult LoadStandIn(std::shared_ptr<const StandIn> stand_in, bool shared, CUkernel* kernel);
  void UnloadStandIn(CUkernel kernel, const StandIn* stand_in);
  CUresult LaunchStandIn(CUkernel kernel, absl::Span<const uint64_t> arguments, CUstream stream);

  std::mutex& mutex() { return mutex_; }
  Faults& faults() { return faults_; }
  void SetSeed(uint64_t seed);
  std::vector<std::string> violations() const { return violations_; }
  std::vector<std::string> Leaks() const;
  std::vector<std::string> TakeTrace(int device);
  DriverCounts counts() const { return {graph_launches_, allocations_, frees_}; }

 private:
  template <typename Handle>
  Handle NextHandle() {
    return reinterpret_cast<Handle>(next_handle_ += 64);
  }

  // Writes down what is wrong. Returns the code that the driver has for such a thing.
  CUresult Violation(const absl::Status& status);
  // The same for what the device found out, which ends its context.
  CUresult Sticky(ContextObject* context, const absl::Status& status);

  // The calling thread's context. Errors: none is current; the context has had a sticky error.
  CUresult Enter(ContextObject** context);
  CUresult FindStream(CUstream handle, ContextObject** context, StreamObject** stream);
  CUresult FindEvent(CUevent handle, ContextObject** context, EventObject** event);
  bool KnowsDevice(CUdevice device) const;

  // What was enqueued to the stream becomes an operation, or a node where it is captured.
  CUresult Submit(CUstream handle, const Command& command);
  OperationRef Enqueue(ContextObject* context, std::string name, const Command& command,
                       std::vector<OperationRef> after);
  // Errors: kAborted and others by their sticky codes.
  CUresult Wait(ContextObject* context, const OperationRef& operation);
  // Before memory goes: runs everything, as far as it runs.
  CUresult Drain(ContextObject* context);

  CUresult MakeKernelCommand(CUkernel kernel, const LaunchShape& shape, unsigned shared_bytes,
                             void** arguments, KernelCommand* command);
  CUresult MakeCopy(ContextObject* context, CopyCommand* command);
  CUresult SubmitCopy(CopyCommand command, CUstream stream);
  CUresult CheckFill(ContextObject* context, const FillCommand& command);

  CUgraph MakeGraph();
  CUgraphNode AddNode(CUgraph graph, Command command, const std::vector<CUgraphNode>& after);
  // The common part of the functions that add a node.
  CUresult AddNodeTo(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count,
                     Command command);
  template <typename Of>
  CUresult FindNode(CUgraphNode handle, NodeObject** node, Of** command);
  CUresult AddEdge(GraphObject* graph, CUgraph handle, const EdgeObject& edge);
  // The graph's nodes, each behind those it comes after; fewer than all if there is a cycle.
  std::vector<CUgraphNode> Ordered(const GraphObject& graph) const;
  CUresult MakeExec(const ContextObject& context, const GraphObject& graph, ExecObject* exec);

  // Whether everything that was captured comes before what the origin's stream has last.
  bool IsJoined(const CaptureObject& capture, const std::vector<CUgraphNode>& frontier);
  void LeaveCapture(ContextObject* context, CaptureObject* capture);
  CUresult WaitInCapture(CUstream handle, StreamObject* stream, const EventObject& event);

  std::mutex mutex_;
  const DriverOptions options_;
  Faults faults_;
  bool initialized_ = false;
  uintptr_t next_handle_ = 4096;
  int64_t graph_launches_ = 0;
  int64_t allocations_ = 0;
  int64_t frees_ = 0;
  std::map<int, ContextObject> contexts_;  // by device
  std::map<std::thread::id, ContextObject*> current_;
  std::map<CUgraph, GraphObject> graphs_;
  std::map<CUgraphNode, NodeObject> nodes_;
  std::map<CUlibrary, LibraryObject> libraries_;
  std::map<CUkernel, KernelObject> kernels_;
  std::map<std::string, CUkernel> shared_stand_ins_;  // by name
  std::vector<std::string> violations_;
  std::deque<std::string> words_;  // that cuGetErrorString has handed out
};

}  // namespace plait::simulated_gpu
