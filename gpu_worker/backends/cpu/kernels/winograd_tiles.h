#pragma once

#include <vector>

#include "gpu_worker/backends/cpu/kernels/operands.h"
#include "gpu_worker/backends/cpu/kernels/row_epilogue.h"
#include "gpu_worker/backends/cpu/loops/loops.h"
#include "gpu_worker/backends/cpu/run/kernel.h"
#include "optimizer/ops/shared/spatial_window.h"

namespace plait {

// A convolution of images in channels-last by windows of 3x3 that move by one pixel, cut into tiles
// for Winograd's algorithm (see loops/loops.h). Tiles are numbered by rows, image after image; the
// last ones of a row or column hang over. Free of state once it is loaded.
class WinogradTiles {
 public:
  // The elements of some tiles: channel c of element e of tile i is
  // data[e * element_floats + i * row_floats + c].
  struct Elements {
    float* data = nullptr;
    int64_t element_floats = 0;
    int64_t row_floats = 0;
  };

  // A number that is far larger than the others of its tile: what its transform loses would be much
  // beside them. It is none of the elements, and multiplied as it is.
  struct Outlier {
    int32_t pixel = 0;  // of the tile's, by rows
    int32_t channel = 0;
    float value = 0;
  };
  // Those of tile i are the first counts[i] from outliers_max() * i on.
  struct Outliers {
    Outlier* first = nullptr;
    int32_t* counts = nullptr;
  };

  // Of the convolution `conv`, whose source, result, bias and bounds are those of `layer`, in tiles
  // of `extent` x `extent` pixels of the result. Takes the bounds.
  // Errors: those of ReadWindow and ConstantValue; ResourceExhausted.
  // REQUIRES: extent is 2 or 4, and kConvWinogradOffer.runs of the node.
  static absl::StatusOr<WinogradTiles> Load(LoadContext* context, const Node& conv, int extent,
                                            RowLayer& layer);

  int64_t count() const { return images_ * TilesOf(0) * TilesOf(1); }
  // Of a tile.
  int64_t elements() const { return int64_t{extent_ + 2} * (extent_ + 2); }
  int64_t source_channels() const { return source_channels_; }
  int64_t result_channels() const { return result_channels_; }
  // Of a tile, at most: no more numbers than this can be so much larger than the mean.
  int64_t outliers_max() const;
  // What Read needs to work in.
  int64_t spare_floats() const { return elements() * source_channels_; }

  // Writes the transformed weights of source channel `channel` and `count` result channels from
  // `first` on: those of element e to to[e]. False: one of them is not finite.
  bool TransformWeights(int64_t channel, int64_t first, int64_t count,
                        absl::Span<float* const> to) const;

  // Transforms the pixels of the tiles from `begin` to `end`, the first of which is tile 0 of the
  // elements and outliers. `spare` is the thread's.
  void Read(int64_t begin, int64_t end, const Elements& elements, const Outliers& outliers,
            float* spare) const;

  // Writes the result of such tiles from the products of their elements, with what the epilogue
  // that the tiles were loaded with has left (TakeBounds). A tile of which a number overflows or is
  // none is computed from its pixels instead: there it would spread.
  void Write(int64_t begin, int64_t end, const Elements& elements, const Outliers& outliers,
             const RowEpilogue& epilogue) const;

 private:
  // A tile's first row and column in the result.
  struct Place {
    int64_t image;
    int64_t row;
    int64_t column;
  };

  void PackWeights(int threads, const float* values, float* packed) const;
  int64_t TilesOf(int axis) const { return CeilDiv(axes_[axis].output, extent_); }
  Place PlaceOf(int64_t tile) const;
  // The number of a pixel of the result, over all images.
  int64_t PixelAt(const Place& place, int64_t row) const;
  const float* SourceAt(int64_t image, int64_t row, int64_t column) const;
  // Copies a tile's pixels without the numbers that are larger than the limit, which it adds to the
  // outliers; `pixels` are those of the copy then. Returns how many there are.
  int32_t TakeOutliers(float limit, const float** pixels, Outlier* outliers, float* spare) const;
  void WriteTile(const Place& place, const WinogradSums& sums, absl::Span<const Outlier> outliers,
                 const RowEpilogue& epilogue) const;
  // To all pixels of the result that see it.
  void AddOutlier(const Outlier& outlier, float* const* pixels) const;
  void ConvolvePixel(int64_t image, int64_t row, int64_t column, float* result) const;
  const float* WeightsAt(int64_t channel, int64_t tap) const {
    return weights_ + (channel * kTaps + tap) * result_channels_;
  }

  static constexpr int64_t kTaps = 9;

  const float* source_ = nullptr;
  float* result_ = nullptr;
  const float* weights_ = nullptr;  // [source channel][tap][result channel]
  const float* bias_ = nullptr;
  RowEpilogue::Bounds bounds_;
  int extent_ = 2;
  int64_t images_ = 0;
  int64_t source_channels_ = 0;
  int64_t result_channels_ = 0;
  int64_t source_pixel_floats_ = 0;  // from one pixel to the next
  int64_t result_pixel_floats_ = 0;
  WindowAxis axes_[2];
};

}  // namespace plait
