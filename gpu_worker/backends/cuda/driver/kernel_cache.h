#pragma once

#include <optional>
#include <string>

namespace plait::cuda {

// Keeps the code of compiled kernels for later processes: NVRTC takes 40 to 300 ms for each, and a
// model has some hundred candidates. Thread-safe. What cannot be kept is compiled again.
class KernelCache {
 public:
  virtual ~KernelCache() = default;

  // A cubin or PTX. `key` names all that it depends on, as CompilationKey makes it.
  virtual std::optional<std::string> Find(const std::string& key) = 0;
  virtual void Keep(const std::string& key, const std::string& code) = 0;
};

}  // namespace plait::cuda
