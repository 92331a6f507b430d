#include "absl/strings/str_cat.h"
#include "gpu_worker/simulated_gpu/driver/driver_calls.h"

// Streams, events, and what is enqueued.

namespace plait::simulated_gpu {

CUresult DriverCalls::FindStream(CUstream handle, ContextObject** context, StreamObject** stream) {
  if (const CUresult code = Enter(context); code != CUDA_SUCCESS) return code;
  const auto found = (*context)->streams.find(handle);
  if (found == (*context)->streams.end()) return CUDA_ERROR_INVALID_HANDLE;
  *stream = &found->second;
  return CUDA_SUCCESS;
}

CUresult DriverCalls::FindEvent(CUevent handle, ContextObject** context, EventObject** event) {
  if (const CUresult code = Enter(context); code != CUDA_SUCCESS) return code;
  const auto found = (*context)->events.find(handle);
  if (found == (*context)->events.end()) return CUDA_ERROR_INVALID_HANDLE;
  *event = &found->second;
  return CUDA_SUCCESS;
}

OperationRef DriverCalls::Enqueue(ContextObject* context, std::string name, const Command& command,
                                  std::vector<OperationRef> after) {
  Operation operation;
  operation.name = absl::StrCat("operation ", ++context->operations, " (", name, ")");
  operation.action = MakeAction(command, &context->memory, context->queue.NextSeed(),
                                options_.instructions_max, /*has_dependencies=*/false);
  for (OperationRef& other : after) {
    if (other != nullptr) operation.after.push_back(std::move(other));
  }
  return context->queue.Enqueue(std::move(operation));
}

CUresult DriverCalls::Submit(CUstream handle, const Command& command) {
  ContextObject* context = nullptr;
  StreamObject* stream = nullptr;
  if (const CUresult code = FindStream(handle, &context, &stream); code != CUDA_SUCCESS) {
    return code;
  }
  if (stream->capture != nullptr) {
    if (!stream->capture->is_valid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    stream->frontier = {AddNode(stream->capture->graph, command, stream->frontier)};
    return CUDA_SUCCESS;
  }
  stream->last = Enqueue(context, absl::StrCat(NameOf(command), " in stream ", stream->number),
                         command, {stream->last});
  return CUDA_SUCCESS;
}

CUresult DriverCalls::Wait(ContextObject* context, const OperationRef& operation) {
  if (operation == nullptr) return CUDA_SUCCESS;
  const absl::Status status = context->queue.WaitFor(operation);
  return status.ok() ? CUDA_SUCCESS : Sticky(context, status);
}

// A stream that waits for the default stream, and makes it wait, is nothing that plait uses.
CUresult DriverCalls::cuStreamCreateWithPriority(CUstream* handle, unsigned flags,
                                                 int /*priority*/) {
  ContextObject* context = nullptr;
  if (const CUresult code = Enter(&context); code != CUDA_SUCCESS) return code;
  if (flags != CU_STREAM_NON_BLOCKING) return CUDA_ERROR_NOT_SUPPORTED;
  *handle = NextHandle<CUstream>();
  context->streams[*handle].number = ++context->streams_made;
  return CUDA_SUCCESS;
}

// What was enqueued runs all the same.
CUresult DriverCalls::cuStreamDestroy(CUstream handle) {
  ContextObject* context = nullptr;
  StreamObject* stream = nullptr;
  if (const CUresult code = FindStream(handle, &context, &stream); code != CUDA_SUCCESS) {
    return code;
  }
  if (handle == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (stream->capture != nullptr) {
    const std::shared_ptr<CaptureObject> capture = stream->capture;
    capture->is_valid = false;
    capture->streams.erase(handle);
  }
  context->streams.erase(handle);
  return CUDA_SUCCESS;
}

CUresult DriverCalls::cuStreamSynchronize(CUstream handle) {
  ContextObject* context = nullptr;
  StreamObject* stream = nullptr;
  if (const CUresult code = FindStream(handle, &context, &stream); code != CUDA_SUCCESS) {
    return code;
  }
  if (stream->capture != nullptr) {
    stream->capture->is_valid = false;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  return Wait(context, stream->last);
}

CUresult DriverCalls::cuEventCreate(CUevent* handle, unsigned flags) {
  ContextObject* context = nullptr;
  if (const CUresult code = Enter(&context); code != CUDA_SUCCESS) return code;
  if (flags != 0) return CUDA_ERROR_NOT_SUPPORTED;
  *handle = NextHandle<CUevent>();
  context->events[*handle];
  return CUDA_SUCCESS;
}

CUresult DriverCalls::cuEventDestroy(CUevent handle) {
  ContextObject* context = nullptr;
  EventObject* event = nullptr;
  if (const CUresult code = FindEvent(handle, &context, &event); code != CUDA_SUCCESS) return code;
  context->events.erase(handle);
  return CUDA_SUCCESS;
}

CUresult DriverCalls::cuEventRecord(CUevent handle, CUstream stream_handle) {
  ContextObject* context = nullptr;
  StreamObject* stream = nullptr;
  EventObject* event = nullptr;
  if (const CUresult code = FindEvent(handle, &context, &event); code != CUDA_SUCCESS) return code;
  if (const CUresult code = FindStream(stream_handle, &context, &stream); code != CUDA_SUCCESS) {
    return code;
  }
  if (stream->capture != nullptr) {
    if (!stream->capture->is_valid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    *event = {nullptr, stream->capture, stream->frontier};
    return CUDA_SUCCESS;
  }
  stream->last =
      Enqueue(context, absl::StrCat("event in stream ", stream->number), {}, {stream->last});
  *event = {stream->last, nullptr, {}};
  return CUDA_SUCCESS;
}

CUresult DriverCalls::cuEventElapsedTime(float* ms, CUevent begin_handle, CUevent end_handle) {
  ContextObject* context = nullptr;
  EventObject *begin = nullptr, *end = nullptr;
  for (const auto& [handle, event] : {std::pair(begin_handle, &begin), {end_handle, &end}}) {
    if (const CUresult code = FindEvent(handle, &context, event); code != CUDA_SUCCESS) return code;
    if ((*event)->capture != nullptr) return CUDA_ERROR_CAPTURED_EVENT;
    if ((*event)->record == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  }
  if (!begin->record->has_ended() || !end->record->has_ended()) return CUDA_ERROR_NOT_READY;
  *ms = static_cast<float>((end->record->ended_us - begin->record->ended_us) / 1000);
  return CUDA_SUCCESS;
}

CUresult DriverCalls::cuStreamWaitEvent(CUstream handle, CUevent event_handle, unsigned flags) {
  ContextObject* context = nullptr;
  StreamObject* stream = nullptr;
  EventObject* event = nullptr;
  if (flags != 0) return CUDA_ERROR_NOT_SUPPORTED;
  if (const CUresult code = FindEvent(event_handle, &context, &event); code != CUDA_SUCCESS) {
    return code;
  }
  if (const CUresult code = FindStream(handle, &context, &stream); code != CUDA_SUCCESS) {
    return code;
  }
  if (stream->capture != nullptr || event->capture != nullptr) {
    return WaitInCapture(handle, stream, *event);
  }
  // An event that was never recorded has happened.
  if (event->record == nullptr) return CUDA_SUCCESS;
  stream->last = Enqueue(context, absl::StrCat("wait in stream ", stream->number), {},
                         {stream->last, event->record});
  return CUDA_SUCCESS;
}

}  // namespace plait::simulated_gpu
