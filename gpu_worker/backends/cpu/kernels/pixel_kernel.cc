#include "gpu_worker/backends/cpu/kernels/pixel_kernel.h"

#include "gpu_worker/backends/cpu/kernels/operands.h"
#include "gpu_worker/backends/cpu/team/team.h"

namespace plait {

absl::Status PixelKernel::Run() {
  const int64_t chunks = CeilDiv(parts_.pixels, parts_.chunk_pixels);
  ForEachPart(parts_.width, chunks, [&](int64_t first, int64_t last, int) {
    for (int64_t chunk = first; chunk < last; ++chunk) {
      const int64_t begin = chunk * parts_.chunk_pixels;
      const int64_t end = std::min(parts_.pixels, begin + parts_.chunk_pixels);
      PixelWindow::Target to = parts_.result;
      to.data += begin * to.pixel_floats;
      RunPixels(begin, end, to);
      parts_.epilogue.ApplyToRows(to.data, begin, end - begin);
    }
  });
  return absl::OkStatus();
}

}  // namespace plait
