#pragma once

#include <optional>
#include <string>
#include <vector>

namespace plait::cuda {

// Keeps the code of compiled kernels for later processes: NVRTC takes 40 to 300 ms for each, and a
// model has some hundred candidates. Thread-safe. What cannot be kept is compiled again.
class KernelCache {
 public:
  virtual ~KernelCache() = default;

  // A cubin or PTX, in which there may be other kernels, too. `key` names all that the kernel
  // depends on, as CompilationKey makes it of the kernel's text alone. Or what else somebody keeps
  // under a key that is no kernel's.
  virtual std::optional<std::string> Find(const std::string& key) = 0;
  // `code` has a kernel for each of the keys.
  virtual void Keep(const std::vector<std::string>& keys, const std::string& code) = 0;
};

}  // namespace plait::cuda
