#include <tuple>

#include <dlfcn.h>
#include <limits.h>
#include <link.h>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/onednn/open_onednn.h"
#include "gpu_worker/backends/cpu/onednn/private_openmp.h"
#include "gpu_worker/backends/cpu/team/openmp.h"
#include "oneapi/dnnl/dnnl.h"

// Why not dlopen's RTLD_DEEPBIND on the library as it is: a program that has loaded libdnnl itself
// would get the same copy, whose OpenMP is the program's; one that loads it later would get ours;
// and AddressSanitizer refuses the flag. Why not dlmopen: a second C library in the process has
// its own threads, locks and memory.

namespace plait {
namespace {

// oneDNN's functions, by their own names.
struct Functions {
#define PLAIT_ONEDNN_FUNCTION(parameters, name) decltype(&::name) name = nullptr;
#include "gpu_worker/backends/cpu/onednn/private_functions.def"
#undef PLAIT_ONEDNN_FUNCTION
};

// The folder of the library that this code is in, as it was when that was loaded.
absl::StatusOr<std::string> OwnFolder() {
  Dl_info info;
  void* map = nullptr;
  if (dladdr1(reinterpret_cast<void*>(&OwnFolder), &info, &map, RTLD_DL_LINKMAP) == 0) {
    return absl::NotFoundError("plait's own library is not among those that are loaded");
  }
  char origin[PATH_MAX];
  if (dlinfo(map, RTLD_DI_ORIGIN, origin) != 0) return absl::NotFoundError(dlerror());
  return std::string(origin);
}

// Never closed: code of it may run until the process ends.
absl::StatusOr<void*> OpenLibrary(const std::string& path) {
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library != nullptr) return library;
  return absl::NotFoundError(
      absl::StrCat("cpu: a part of libplait_runtime cannot be loaded: ", dlerror()));
}

absl::Status Take(void* library, const char* name, auto** function) {
  *function = reinterpret_cast<std::decay_t<decltype(*function)>>(dlsym(library, name));
  if (*function != nullptr) return absl::OkStatus();
  return absl::NotFoundError(absl::StrCat("cpu: oneDNN has no function ", name));
}

absl::StatusOr<Functions> OpenPrivateCopy() {
  constexpr PlaitOpenMp kOpenMp = {OpenMpParallel, OpenMpBarrier, OpenMpMaxThreads,
                                   OpenMpThreads,  OpenMpThread,  OpenMpIsParallel};
  PLAIT_ASSIGN_OR_RETURN(const std::string folder, OwnFolder());
  PLAIT_ASSIGN_OR_RETURN(void* const openmp,
                         OpenLibrary(absl::StrCat(folder, "/plait/plait_omp.so")));
  PlaitOpenMpPassTo* pass_to = nullptr;
  PLAIT_RETURN_IF_ERROR(Take(openmp, "plait_omp_pass_to", &pass_to));
  pass_to(&kOpenMp);
  PLAIT_ASSIGN_OR_RETURN(void* const onednn,
                         OpenLibrary(absl::StrCat(folder, "/plait/plaitdnnl.so")));
  Functions functions;
#define PLAIT_ONEDNN_FUNCTION(parameters, name) \
  PLAIT_RETURN_IF_ERROR(Take(onednn, #name, &functions.name));
#include "gpu_worker/backends/cpu/onednn/private_functions.def"
#undef PLAIT_ONEDNN_FUNCTION
  return functions;
}

const absl::StatusOr<Functions>& Opened() {
  static const absl::StatusOr<Functions> opened = OpenPrivateCopy();
  return opened;
}

// The type of a function's parameter `index`.
template <typename Function, int index>
struct ParameterOf;
template <typename Result, typename... Parameters, int index>
struct ParameterOf<Result(Parameters...), index> {
  using Type = std::tuple_element_t<index, std::tuple<Parameters...>>;
};

}  // namespace

absl::Status OpenOnednn() { return Opened().status(); }

// The definitions: dnnl_version_t* dnnl_version() { return Opened()->dnnl_version(); } and so on.
#define PLAIT_TYPE(name, index) ParameterOf<decltype(::name), index>::Type a##index
#define PLAIT_TYPES_0(name)
#define PLAIT_TYPES_1(name) PLAIT_TYPE(name, 0)
#define PLAIT_TYPES_2(name) PLAIT_TYPES_1(name), PLAIT_TYPE(name, 1)
#define PLAIT_TYPES_3(name) PLAIT_TYPES_2(name), PLAIT_TYPE(name, 2)
#define PLAIT_TYPES_4(name) PLAIT_TYPES_3(name), PLAIT_TYPE(name, 3)
#define PLAIT_TYPES_5(name) PLAIT_TYPES_4(name), PLAIT_TYPE(name, 4)
#define PLAIT_TYPES_6(name) PLAIT_TYPES_5(name), PLAIT_TYPE(name, 5)
#define PLAIT_TYPES_9(name) \
  PLAIT_TYPES_6(name), PLAIT_TYPE(name, 6), PLAIT_TYPE(name, 7), PLAIT_TYPE(name, 8)
#define PLAIT_TYPES_11(name) PLAIT_TYPES_9(name), PLAIT_TYPE(name, 9), PLAIT_TYPE(name, 10)
#define PLAIT_NAMES_0
#define PLAIT_NAMES_1 a0
#define PLAIT_NAMES_2 a0, a1
#define PLAIT_NAMES_3 a0, a1, a2
#define PLAIT_NAMES_4 a0, a1, a2, a3
#define PLAIT_NAMES_5 a0, a1, a2, a3, a4
#define PLAIT_NAMES_6 a0, a1, a2, a3, a4, a5
#define PLAIT_NAMES_9 a0, a1, a2, a3, a4, a5, a6, a7, a8
#define PLAIT_NAMES_11 a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10
#define PLAIT_ONEDNN_FUNCTION(parameters, name)                                                    \
  extern "C" auto name(PLAIT_TYPES_##parameters(name))->decltype(name(PLAIT_NAMES_##parameters)) { \
    return Opened()->name(PLAIT_NAMES_##parameters);                                               \
  }
#include "gpu_worker/backends/cpu/onednn/private_functions.def"

}  // namespace plait
