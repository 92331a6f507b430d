#pragma once

#include <array>
#include <vector>

#include "optimizer/ops/shared/spatial_window.h"

// What AveragePool and MaxPool share: windows over up to three spatial axes, each channel by
// itself.
namespace plait {

// The window of AveragePool and MaxPool, from kernel_shape and ceil_mode.
// Errors: as ReadWindow; InvalidArgument when a pad is as large as the kernel's span (a window
// would lie beside the input); Unimplemented for more than three spatial axes.
absl::StatusOr<std::vector<WindowAxis>> ReadPoolWindow(const OpCall& call);

// The type of the pooled input 0.
// Errors: InvalidArgument when it is too large.
absl::StatusOr<TensorType> PooledType(const OpCall& call, const std::vector<WindowAxis>& window);

// Flops of one operation per window element, padding included: the definition's count.
Work WorkOfPool(const OpCall& call, absl::Span<const TensorType> output_types);

// OpSpec::lower of a pool whose attribute `dilations` came with `dilations_opset`; ceil_mode came
// with opset 10.
// Errors: Unimplemented when the node dilates or rounds up and the opset cannot say so.
absl::Status LowerPool(VersionedNode* node, int dilations_opset);

// Calls visit(output index, position) for every input element under every window of one channel,
// both row-major within the channel, windows in order. Elements under the padding are not visited.
// `axes` has three (ThreeAxes).
// Three loops over outputs and three over the kernel, whose bounds leave out the padding, so that
// the innermost has no branch.
template <typename Visit>
void ForEachWindowElement(const std::vector<WindowAxis>& axes, Visit visit) {
  const WindowAxis &z = axes[0], &y = axes[1], &x = axes[2];
  int64_t output = 0;
  for (int64_t oz = 0; oz < z.output; ++oz) {
    for (int64_t oy = 0; oy < y.output; ++oy) {
      for (int64_t ox = 0; ox < x.output; ++ox, ++output) {
        for (int64_t kz = z.kernel_begin(oz); kz < z.kernel_end(oz); ++kz) {
          const int64_t plane = z.start(oz) + kz * z.dilation;
          for (int64_t ky = y.kernel_begin(oy); ky < y.kernel_end(oy); ++ky) {
            const int64_t row = plane * y.input + y.start(oy) + ky * y.dilation;
            for (int64_t kx = x.kernel_begin(ox); kx < x.kernel_end(ox); ++kx) {
              visit(output, row * x.input + x.start(ox) + kx * x.dilation);
            }
          }
        }
      }
    }
  }
}

}  // namespace plait
