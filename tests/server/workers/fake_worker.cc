#include <cstring>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

// Reads this program's file again and again, as one of 64 MiB.
void MapFiles() {
  const int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  const off_t size = lseek(file, 0, SEEK_END);
  for (off_t mapped = 0; mapped < (off_t{64} << 20); mapped += size) {
    const size_t bytes = static_cast<size_t>(size);
    const void* const data = mmap(nullptr, bytes, PROT_READ, MAP_SHARED | MAP_POPULATE, file, 0);
    if (data == MAP_FAILED) _exit(1);
  }
}

// A worker that never calls. Granted threads, it takes 64 MiB; granted an instruction set, it maps
// as much of files.
int main(int argc, char** argv) {
  std::vector<char> memory;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--threads") == 0) memory.assign(size_t{64} << 20, 1);
    if (std::strcmp(argv[i], "--instruction-set") == 0) MapFiles();
  }
  return pause();
}
