#include "gpu_worker/backends/cuda/driver/dynamic_library.h"

#include <dlfcn.h>

namespace plait::cuda {
namespace {

std::string LoaderMessage() {
  const char* message = dlerror();
  return message == nullptr ? "no message from the loader" : message;
}

}  // namespace

Result<DynamicLibrary> DynamicLibrary::Open(std::initializer_list<const char*> names) {
  std::string reason = "no name given";
  for (const char* name : names) {
    // RTLD_LOCAL: two versions of one library in a process must not see each other's symbols.
    if (void* handle = dlopen(name, RTLD_NOW | RTLD_LOCAL); handle != nullptr) {
      return DynamicLibrary(handle, name);
    }
    reason = LoaderMessage();
  }
  return Error{ErrorCode::kUnavailable, "dlopen: " + reason};
}

Result<void*> DynamicLibrary::Address(const char* name) const {
  // Clears what an earlier failure has left, so that the message below is about this one.
  dlerror();
  void* address = dlsym(handle_, name);
  if (address != nullptr) return address;
  return Error{ErrorCode::kUnavailable, name_ + ": dlsym: " + LoaderMessage()};
}

}  // namespace plait::cuda
