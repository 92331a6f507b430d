#pragma once

#include <type_traits>

#include "gpu_worker/simulated_gpu/driver/library_calls.h"

namespace plait::simulated_gpu {

// A function of a simulated library as C has it: faults come first. `Calls` has the function as a
// static method, and Fail(name, code), which gives the library's status for a code of the driver;
// kNeedsContext: the function uses the device. Functions that return no status do not fail.
// `Call` is the function.
template <typename Calls, auto kFunction, const char* const& kName, bool kNeedsContext>
struct LibraryFunction;

template <typename Calls, typename Return, typename... Arguments, Return (*kFunction)(Arguments...),
          const char* const& kName, bool kNeedsContext>
struct LibraryFunction<Calls, kFunction, kName, kNeedsContext> {
  static Return Call(Arguments... arguments) {
    if constexpr (std::is_same_v<Return, typename Calls::Status>) {
      const CUresult code = BeginLibraryCall(kName, kNeedsContext);
      if (code != CUDA_SUCCESS) return Calls::Fail(kName, code);
    }
    return kFunction(arguments...);
  }
};

}  // namespace plait::simulated_gpu
