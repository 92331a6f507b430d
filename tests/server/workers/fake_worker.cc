#include <cstring>
#include <vector>

#include <unistd.h>

// A worker that never calls. Granted threads, it takes 64 MiB.
int main(int argc, char** argv) {
  std::vector<char> memory;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--threads") == 0) memory.assign(size_t{64} << 20, 1);
  }
  return pause();
}
