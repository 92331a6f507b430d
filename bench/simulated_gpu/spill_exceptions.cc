#include "bench/simulated_gpu/spill_exceptions.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"

namespace plait {
namespace {

constexpr SpillException kExceptions[] = {
#define PLAIT_SPILL(family, variant, architecture, bytes_max, registers) \
  {#family, variant, architecture, bytes_max, registers},
#include "bench/simulated_gpu/spill_exceptions.def"
#undef PLAIT_SPILL
};

// What registers alone let a multiprocessor keep.
double OccupancyOfRegisters(const CompiledKernel& kernel, int registers) {
  return OccupancyOf({.registers = registers}, kernel.threads,
                     MultiprocessorOf(kernel.architecture));
}

std::string NameOf(const SpillException& exception) {
  return absl::StrCat(exception.family, "/", exception.variant, " on ", exception.architecture,
                      " at ", exception.registers, " registers");
}

}  // namespace

absl::Span<const SpillException> SpillExceptions() { return kExceptions; }

int SpilledBytes(const KernelResources& resources) {
  return std::max(resources.spill_store_bytes, resources.spill_load_bytes);
}

std::string SpillCheck::Check(const CompiledKernel& kernel) {
  const int bytes = SpilledBytes(kernel.resources);
  if (bytes == 0) return "";
  const auto* const found =
      std::find_if(exceptions_.begin(), exceptions_.end(), [&](const SpillException& exception) {
        return kernel.family == exception.family && kernel.variant == exception.variant &&
               kernel.architecture == exception.architecture &&
               kernel.resources.registers == exception.registers;
      });
  const int registers = kernel.resources.registers;
  const std::string name = absl::StrCat(kernel.family, "/", kernel.variant, " on ",
                                        kernel.architecture, " at ", registers, " registers");
  if (found == exceptions_.end()) return absl::StrCat(name, ": spills, and is not listed");
  int& needed = needed_[found];
  needed = std::max(needed, bytes);
  if (bytes > found->bytes_max) {
    return absl::StrCat(name, ": spills ", bytes, " bytes, where ", found->bytes_max,
                        " are listed");
  }
  const bool is_step =
      OccupancyOfRegisters(kernel, registers + 1) < OccupancyOfRegisters(kernel, registers);
  return is_step ? "" : absl::StrCat(name, ": spills, and not for the sake of one more block");
}

std::vector<std::string> SpillCheck::Unneeded() const {
  std::vector<std::string> unneeded;
  for (const SpillException& exception : exceptions_) {
    const auto found = needed_.find(&exception);
    const int bytes = found == needed_.end() ? 0 : found->second;
    if (bytes >= exception.bytes_max) continue;
    unneeded.push_back(absl::StrCat(NameOf(exception), ": ", bytes, " bytes are spilled, and ",
                                    exception.bytes_max, " listed"));
  }
  return unneeded;
}

}  // namespace plait
