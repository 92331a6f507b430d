#include <cstdio>
#include <string>
#include <vector>

#include "bench/gpu/options.h"

int main(int argc, char** argv) {
  const auto options = plait::cuda::ParseOptions(std::vector<std::string>(argv + 1, argv + argc));
  if (!options.ok()) {
    std::fprintf(stderr, "plait-gpu-record: %s\nTry plait-gpu-record --help.\n",
                 options.error().message.c_str());
    return 2;
  }
  const std::string& command = options.value().command;
  if (options.value().help) {
    std::fputs(plait::cuda::HelpText().c_str(), stdout);
    return 0;
  }
  if (command == "kernels") return plait::cuda::RunKernels(options.value());
  if (command == "constants") return plait::cuda::RunConstants(options.value());
  if (command == "contention") return plait::cuda::RunContention(options.value());
  return plait::cuda::RunEnumerate(options.value());
}
