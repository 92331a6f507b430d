#include <algorithm>

#include "gpu_worker/simulated_gpu/driver/driver_calls.h"

// Stream capture. A stream joins a capture by waiting for one of its events, and what it captures
// has to come before what the stream that began has last when the capture ends.

namespace plait::simulated_gpu {

CUresult DriverCalls::cuStreamBeginCapture(CUstream handle, CUstreamCaptureMode mode) {
  ContextObject* context = nullptr;
  StreamObject* stream = nullptr;
  if (const CUresult code = FindStream(handle, &context, &stream); code != CUDA_SUCCESS) {
    return code;
  }
  if (handle == nullptr) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (mode != CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_NOT_SUPPORTED;
  if (stream->capture != nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  stream->capture = std::make_shared<CaptureObject>();
  stream->capture->graph = MakeGraph();
  stream->capture->origin = handle;
  stream->capture->streams = {handle};
  stream->frontier.clear();
  return CUDA_SUCCESS;
}

CUresult DriverCalls::WaitInCapture(CUstream handle, StreamObject* stream,
                                    const EventObject& event) {
  if (event.capture == nullptr) {
    if (event.record == nullptr) return CUDA_SUCCESS;
    stream->capture->is_valid = false;
    return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
  }
  if (event.capture->has_ended) return CUDA_ERROR_CAPTURED_EVENT;
  if (stream->capture != nullptr && stream->capture != event.capture) {
    stream->capture->is_valid = event.capture->is_valid = false;
    return CUDA_ERROR_STREAM_CAPTURE_MERGE;
  }
  if (!event.capture->is_valid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (stream->capture == nullptr) {
    if (handle == nullptr) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    stream->capture = event.capture;
    stream->capture->streams.insert(handle);
    stream->frontier.clear();
  }
  for (CUgraphNode node : event.frontier) {
    const auto& frontier = stream->frontier;
    if (std::find(frontier.begin(), frontier.end(), node) == frontier.end()) {
      stream->frontier.push_back(node);
    }
  }
  return CUDA_SUCCESS;
}

bool DriverCalls::IsJoined(const CaptureObject& capture, const std::vector<CUgraphNode>& frontier) {
  const GraphObject& graph = graphs_[capture.graph];
  std::set<CUgraphNode> before;
  std::vector<CUgraphNode> next = frontier;
  while (!next.empty()) {
    const CUgraphNode node = next.back();
    next.pop_back();
    if (!before.insert(node).second) continue;
    for (const EdgeObject& edge : graph.edges) {
      if (edge.to == node) next.push_back(edge.from);
    }
  }
  return before.size() == graph.nodes.size();
}

void DriverCalls::LeaveCapture(ContextObject* context, CaptureObject* capture) {
  capture->has_ended = true;
  for (CUstream handle : capture->streams) {
    StreamObject& stream = context->streams[handle];
    stream.capture = nullptr;
    stream.frontier.clear();
  }
}

CUresult DriverCalls::cuStreamEndCapture(CUstream handle, CUgraph* graph) {
  ContextObject* context = nullptr;
  StreamObject* stream = nullptr;
  *graph = nullptr;
  if (const CUresult code = FindStream(handle, &context, &stream); code != CUDA_SUCCESS) {
    return code;
  }
  const std::shared_ptr<CaptureObject> capture = stream->capture;
  if (capture == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  if (capture->origin != handle) {
    capture->is_valid = false;
    return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  }
  const bool is_joined = IsJoined(*capture, stream->frontier);
  LeaveCapture(context, capture.get());
  if (capture->is_valid && is_joined) {
    *graph = capture->graph;
    return CUDA_SUCCESS;
  }
  cuGraphDestroy(capture->graph);
  return is_joined ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
}

}  // namespace plait::simulated_gpu
