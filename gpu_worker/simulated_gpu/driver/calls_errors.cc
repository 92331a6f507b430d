#include "absl/strings/str_cat.h"
#include "gpu_worker/simulated_gpu/driver/driver_calls.h"
#include "gpu_worker/simulated_gpu/driver/library_calls.h"

// Names and words of errors, and which error a fault of the device is.

namespace plait::simulated_gpu {
namespace {

struct ErrorText {
  CUresult code;
  const char* name;
  const char* words;
};

#define PLAIT_ERROR(name, words) \
  { name, #name, words }
constexpr ErrorText kErrors[] = {
    PLAIT_ERROR(CUDA_SUCCESS, "no error"),
    PLAIT_ERROR(CUDA_ERROR_INVALID_VALUE, "an argument is out of its range"),
    PLAIT_ERROR(CUDA_ERROR_OUT_OF_MEMORY, "out of memory"),
    PLAIT_ERROR(CUDA_ERROR_NOT_INITIALIZED, "cuInit has not been called"),
    PLAIT_ERROR(CUDA_ERROR_DEINITIALIZED, "the driver is gone"),
    PLAIT_ERROR(CUDA_ERROR_DEVICE_UNAVAILABLE, "the device is there no more"),
    PLAIT_ERROR(CUDA_ERROR_INVALID_DEVICE, "no such device"),
    PLAIT_ERROR(CUDA_ERROR_INVALID_CONTEXT, "no current context"),
    PLAIT_ERROR(CUDA_ERROR_NO_BINARY_FOR_GPU, "no code for this device"),
    PLAIT_ERROR(CUDA_ERROR_INVALID_PTX, "PTX that cannot be compiled"),
    PLAIT_ERROR(CUDA_ERROR_INVALID_HANDLE, "no such handle"),
    PLAIT_ERROR(CUDA_ERROR_ILLEGAL_STATE, "not in this state"),
    PLAIT_ERROR(CUDA_ERROR_NOT_FOUND, "no such name"),
    PLAIT_ERROR(CUDA_ERROR_NOT_READY, "has not happened yet"),
    PLAIT_ERROR(CUDA_ERROR_ILLEGAL_ADDRESS, "an illegal memory access"),
    PLAIT_ERROR(CUDA_ERROR_LAUNCH_TIMEOUT, "a launch has taken too long"),
    PLAIT_ERROR(CUDA_ERROR_MISALIGNED_ADDRESS, "a misaligned memory access"),
    PLAIT_ERROR(CUDA_ERROR_LAUNCH_FAILED, "a launch has failed"),
    PLAIT_ERROR(CUDA_ERROR_NOT_SUPPORTED, "the simulated driver does not do that"),
    PLAIT_ERROR(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "not while a stream is captured"),
    PLAIT_ERROR(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "an earlier error has ended the capture"),
    PLAIT_ERROR(CUDA_ERROR_STREAM_CAPTURE_MERGE, "two captures would become one"),
    PLAIT_ERROR(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, "the capture was not begun in this stream"),
    PLAIT_ERROR(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, "a stream was not joined to the capture"),
    PLAIT_ERROR(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, "an edge would leave the capture"),
    PLAIT_ERROR(CUDA_ERROR_CAPTURED_EVENT, "the event was recorded in a capture"),
    PLAIT_ERROR(CUDA_ERROR_UNKNOWN, "an unknown error"),
};
#undef PLAIT_ERROR

const ErrorText* Find(CUresult code) {
  for (const ErrorText& error : kErrors) {
    if (error.code == code) return &error;
  }
  return nullptr;
}

// A device finds out less than the simulator; what it would not is a launch that has failed.
CUresult CodeOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOutOfRange:
      return CUDA_ERROR_ILLEGAL_ADDRESS;
    case absl::StatusCode::kInvalidArgument:
      return CUDA_ERROR_MISALIGNED_ADDRESS;
    case absl::StatusCode::kResourceExhausted:
      return CUDA_ERROR_LAUNCH_TIMEOUT;
    default:
      return CUDA_ERROR_LAUNCH_FAILED;
  }
}

}  // namespace

std::string NameOf(CUresult code) {
  const ErrorText* found = Find(code);
  return found == nullptr ? absl::StrCat("error ", code) : found->name;
}

CUresult DriverCalls::Violation(const absl::Status& status) {
  violations_.emplace_back(status.message());
  return CodeOf(status);
}

CUresult DriverCalls::Sticky(ContextObject* context, const absl::Status& status) {
  context->sticky = Violation(status);
  return context->sticky;
}

CUresult DriverCalls::cuGetErrorName(CUresult error, const char** name) {
  const ErrorText* found = Find(error);
  *name = found == nullptr ? nullptr : found->name;
  return found == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

// Of what only the simulator finds out the words say more than a driver's would.
CUresult DriverCalls::cuGetErrorString(CUresult error, const char** words) {
  const ErrorText* found = Find(error);
  *words = found == nullptr ? nullptr : found->words;
  if (found == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const bool is_of_device = error == CUDA_ERROR_ILLEGAL_ADDRESS ||
                            error == CUDA_ERROR_LAUNCH_TIMEOUT ||
                            error == CUDA_ERROR_MISALIGNED_ADDRESS ||
                            error == CUDA_ERROR_LAUNCH_FAILED || error == CUDA_ERROR_INVALID_PTX;
  if (!is_of_device || violations_.empty()) return CUDA_SUCCESS;
  words_.push_back(absl::StrCat(found->words, ": ", violations_.back()));
  *words = words_.back().c_str();
  return CUDA_SUCCESS;
}

}  // namespace plait::simulated_gpu
