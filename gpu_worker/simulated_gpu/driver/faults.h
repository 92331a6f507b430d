#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <cuda.h>

namespace plait::simulated_gpu {

// What goes wrong with one function of the driver, by its name in driver_functions.def.
struct Fault {
  enum class Kind {
    kError,        // it fails once, and does nothing
    kSticky,       // it fails, and so does everything after it that needs a context
    kOutOfMemory,  // it fails once with CUDA_ERROR_OUT_OF_MEMORY
    kHang,         // it does not return before StopHanging()
    kLost,         // as kSticky, with CUDA_ERROR_DEVICE_UNAVAILABLE: the driver has lost the device
  };
  std::string function;
  Kind kind = Kind::kError;
  int calls_before = 0;  // that go well
};

// The faults that are still to come. Thread-safe.
class Faults {
 public:
  void Add(Fault fault);
  // From here on standard error has a line for each fault that came.
  void TellEach();

  // A call of `function` begins. Hangs where it is to. Returns what the call fails with instead of
  // doing anything; CUDA_SUCCESS for one that goes well.
  CUresult Begin(const std::string& function, bool needs_context);

  // Ends every hang, and those that would come: the calls then do what they are for.
  void StopHanging();
  // How many calls hang now.
  int hanging() const;

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Fault> faults_;
  CUresult sticky_ = CUDA_SUCCESS;
  bool may_hang_ = true;
  bool is_told_ = false;
  int hanging_ = 0;
};

}  // namespace plait::simulated_gpu
