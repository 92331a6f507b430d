#pragma once

#include <vector>

#include "gpu_worker/backends/cpu/kernels/plane_layer.h"

namespace plait {

// A convolution of images in channels-last by constant weights, computed in planes, without copying
// windows: a tile is two pieces of up to 16 pixels of a row of the result, and step after step it
// reads what lies under each place of the window, 64 bytes of channels at a time.
//
// A run writes the image as planes with zeros around it, and multiplies. Digits have one scale, of
// the image's largest number. Numbers that are far larger than the others are none of the digits:
// they are multiplied as they are, so that the others keep their accuracy. An image with an
// infinity or a NaN, or of very small numbers alone, is multiplied so number by number: slow and
// right. So is a pixel without a scale whose result is not finite, whatever made it so.
class PlaneConvolution : public CpuKernel {
 public:
  // Places along the height and the width.
  struct Problem {
    int64_t images;
    int64_t channels;
    int64_t size[2];
    int64_t result_channels;
    int64_t result_size[2];
    int64_t window[2];
    int64_t strides[2];
    int64_t dilations[2];
    int64_t pads_begin[2];
    int64_t pads_end[2];
  };

  // Computes the kernel's nodes, which `layer` has read, as `problem`.
  // Errors: those of PlaneLayer.
  static absl::StatusOr<std::unique_ptr<CpuKernel>> Load(LoadContext* context,
                                                         const Problem& problem,
                                                         std::unique_ptr<PlaneLayer> layer);

  absl::Status Run() override;

 private:
  PlaneConvolution(const Problem& problem, int width, std::unique_ptr<PlaneLayer> layer);

  absl::Status LoadWeights(LoadContext* context);
  // Where the weight of a channel and a place of the window lies along the steps.
  int64_t DepthOf(int64_t channel, int64_t place) const;
  void ChooseChunks();
  absl::Status AllocateMemory(LoadContext* context);
  PlaneTile TileShape() const;

  struct Range {
    int64_t begin;
    int64_t end;
  };

  absl::Status RunImage(int64_t image);
  // The scale of an image that begins there, and its outliers.
  float ScaleOf(const float* image);
  float MagnitudeWithoutOutliers(const float* image, const Magnitudes& all);
  // Notes the numbers above the limit; false when they are too many.
  bool FindOutliers(const float* image, float limit, float* largest);
  // Rows of the planes, counted with the zeros around the image.
  void SplitRows(const float* image, float scale, int64_t begin, int64_t end);
  // Of an outlier, in all planes.
  void ClearNumber(int64_t element);
  absl::Status RunChunk(int64_t image, int64_t chunk, PlaneLayer::Lane& lane) const;
  // Two pieces, or the last one, from `piece` on, by a block of columns.
  absl::Status RunTile(int64_t image, int64_t piece, int64_t end, int64_t block, int64_t turn,
                       PlaneLayer::Lane& lane) const;
  PlaneLayer::Piece PieceOf(int64_t image, int64_t piece) const;
  // What one number of the image adds to the result, in rows from `begin` to `end` and blocks of
  // columns from `first` to `last`.
  void AddNumber(int64_t image, int64_t element, float number, const Range& rows,
                 const Range& blocks) const;
  // Rows of an image without a scale, and a pixel of the result, counted over all images, without
  // the epilogue: as products of fp32 numbers.
  void MultiplyRows(int64_t image, const Range& rows) const;
  void MultiplyPixel(int64_t pixel, const Range& blocks) const;

  const Problem problem_;
  const int width_;
  const std::unique_ptr<PlaneLayer> layer_;
  int64_t channel_steps_ = 0;
  int64_t pixel_bytes_ = 0;  // of a plane, from one pixel to the next
  int64_t row_bytes_ = 0;    // from one row of pixels to the next
  int64_t plane_bytes_ = 0;  // from one plane to the next
  int64_t piece_pixels_ = 16;
  int64_t row_pieces_ = 1;    // pieces of a row of the result
  int64_t chunk_pieces_ = 1;  // whole rows
  int64_t chunk_blocks_ = 1;  // blocks of columns
  struct Outlier {
    int64_t element;  // of the image
    float number;
  };
  std::vector<Outlier> outliers_;  // of the image that is being multiplied
  size_t outliers_max_ = 0;
  // Of each row of the image.
  std::vector<Magnitudes> magnitudes_;
  std::vector<UsualMagnitudes> usual_magnitudes_;
  // Scratch.
  std::byte* planes_ = nullptr;  // [plane][row][pixel]
  float row_scales_[16] = {};    // the image's, for each pixel of a piece
};

}  // namespace plait
