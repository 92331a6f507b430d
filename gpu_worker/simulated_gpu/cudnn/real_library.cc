// For dlmopen and dladdr.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "gpu_worker/simulated_gpu/cudnn/real_library.h"

#include <cstdlib>
#include <optional>
#include <utility>

#include <dlfcn.h>
#include <pthread.h>

namespace plait::simulated_gpu {
namespace {

constexpr const char* kCublasLtPath = "/usr/local/cuda/lib64/libcublasLt.so.13";
constexpr const char* kCudnnPath = "/usr/local/cuda/lib64/libcudnn.so.9";

std::string& DriverPath() {
  static auto& path = *std::make_unique<std::string>().release();
  return path;
}

// The shared object that this code is in, or nothing for a program.
std::string OwnObject() {
  Dl_info info = {};
  if (dladdr(reinterpret_cast<const void*>(&RealCudnn), &info) == 0) return {};
  const std::string name = info.dli_fname == nullptr ? "" : info.dli_fname;
  return name.find(".so") == std::string::npos ? std::string() : name;
}

// What cuDNN finds as NVRTC in its namespace: by default a library without functions, which lies
// beside this object, since of two copies of NVRTC in a process, in two namespaces, one crashed
// when it began or ended. Then cuDNN lists no engines that are compiled at run time; none is
// strict.
std::string NvrtcBeside(const std::string& own) {
  if (own.empty() || std::getenv("PLAIT_SIMULATED_RUNTIME_ENGINES") != nullptr) return {};
  return own.substr(0, own.rfind('/') + 1) + "no_nvrtc/libnvrtc.so.13";
}

// Opens libraries, all in one namespace.
class Opener {
 public:
  explicit Opener(bool is_apart) : namespace_(is_apart ? LM_ID_NEWLM : LM_ID_BASE) {}

  void* Open(const char* path) {
    void* handle = dlmopen(namespace_, path, RTLD_NOW | RTLD_LOCAL);
    if (handle != nullptr && namespace_ == LM_ID_NEWLM) {
      dlinfo(handle, RTLD_DI_LMID, &namespace_);
      LeaveKeys();
    }
    return handle;
  }

 private:
  // The namespace has a C library of its own, which counts keys of thread-specific data from 0, but
  // its threads are the process's: what it keeps by a key would stand where the process keeps its
  // own. cuDNN opens NVRTC there, which may be open in the process, too.
  void LeaveKeys() const {
    constexpr int kKeysOfProcess = 512;  // half of all
    void* library = dlmopen(namespace_, "libc.so.6", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return;
    using Create = int(pthread_key_t*, void (*)(void*));
    auto* const create = reinterpret_cast<Create*>(dlsym(library, "pthread_key_create"));
    pthread_key_t key = 0;
    for (int i = 0; create != nullptr && i < kKeysOfProcess; ++i) create(&key, nullptr);
  }

  Lmid_t namespace_;
};

template <typename Function>
bool Load(void* from, const char* name, Function** function) {
  *function = reinterpret_cast<Function*>(dlsym(from, name));
  return *function != nullptr;
}

std::optional<cuda::CudnnLibrary> Open() {
  const std::string own = OwnObject();
  Opener opener(!own.empty());
  // cuBLASLt first: without it cuDNN ends the process.
  if (opener.Open(kCublasLtPath) == nullptr) return std::nullopt;
  const std::string driver = own.empty() ? DriverPath() : own;
  if (!driver.empty()) opener.Open(driver.c_str());
  if (const std::string nvrtc = NvrtcBeside(own); !nvrtc.empty()) opener.Open(nvrtc.c_str());
  void* from = opener.Open(kCudnnPath);
  if (from == nullptr) return std::nullopt;
  cuda::CudnnLibrary library;
  const bool is_whole = Load(from, "cudnnGetVersion", &library.get_version) &&
                        Load(from, "cudnnGetErrorString", &library.get_error_string) &&
                        Load(from, "cudnnGetLastErrorString", &library.get_last_error_string) &&
                        Load(from, "cudnnBackendCreateDescriptor", &library.create_descriptor) &&
                        Load(from, "cudnnBackendDestroyDescriptor", &library.destroy_descriptor) &&
                        Load(from, "cudnnBackendFinalize", &library.finalize) &&
                        Load(from, "cudnnBackendSetAttribute", &library.set_attribute) &&
                        Load(from, "cudnnBackendGetAttribute", &library.get_attribute);
  if (!is_whole) return std::nullopt;
  return library;
}

}  // namespace

const cuda::CudnnLibrary* RealCudnn() {
  static const auto& library =
      *std::make_unique<std::optional<cuda::CudnnLibrary>>(Open()).release();
  return library.has_value() ? &*library : nullptr;
}

void UseDriverForEngineLists(std::string path) { DriverPath() = std::move(path); }

}  // namespace plait::simulated_gpu
