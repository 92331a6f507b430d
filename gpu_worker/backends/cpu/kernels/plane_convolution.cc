#include "gpu_worker/backends/cpu/kernels/plane_convolution.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/kernels/operands.h"
#include "gpu_worker/backends/cpu/team/team.h"

// 64 channels of 56 by 56 pixels, 64 filters of 3 by 3, padded by one: digits lie in three planes
// of 58 rows of 58 pixels of 64 bytes. A row of the result is four pieces of 14 pixels. A block of
// steps is a row of the window, three pixels beside each other, and is repeated for three rows:
//   steps {0, 64, 128}, repeated 3 times, 58 * 64 bytes further each
// With 128 channels a pixel takes 192 bytes, 64 of them empty so that the pixels of a piece lie in
// different sets of the caches, and all is repeated once more, 64 bytes further.

namespace plait {
namespace {

constexpr int64_t kPiecePixelsMax = 16;
// An image may have an outlier for so many numbers, at most: one costs some fifty times as much as
// a number in digits.
constexpr int64_t kNumbersOfOutlier = 512;
constexpr int64_t kOutliersMin = 8;

int64_t PixelBytes(int64_t steps) {
  return steps > 1 ? (steps + 1) * PlaneLayer::kStepBytes : PlaneLayer::kStepBytes;
}

int64_t PaddedSize(const PlaneConvolution::Problem& problem, int axis) {
  return problem.pads_begin[axis] + problem.size[axis] + problem.pads_end[axis];
}

// The last piece of a row may read pixels behind the row, of which nothing is kept: behind the last
// row there has to be something.
int64_t PlanePixels(const PlaneConvolution::Problem& problem) {
  return PaddedSize(problem, 0) * PaddedSize(problem, 1) + kPiecePixelsMax * problem.strides[1];
}

// As even as can be: 28 pixels are two pieces of 14, and 17 are 9 and 8.
int64_t PiecePixels(int64_t row_pixels) {
  return CeilDiv(row_pixels, CeilDiv(row_pixels, kPiecePixelsMax));
}

}  // namespace

PlaneConvolution::PlaneConvolution(const Problem& problem, int width,
                                   std::unique_ptr<PlaneLayer> layer)
    : problem_(problem), width_(width), layer_(std::move(layer)) {
  channel_steps_ = CeilDiv(problem.channels, layer_->step_numbers());
  pixel_bytes_ = PixelBytes(channel_steps_);
  row_bytes_ = PaddedSize(problem, 1) * pixel_bytes_;
  plane_bytes_ = PlanePixels(problem) * pixel_bytes_;
  piece_pixels_ = PiecePixels(problem.result_size[1]);
  row_pieces_ = CeilDiv(problem.result_size[1], piece_pixels_);
}

absl::StatusOr<std::unique_ptr<CpuKernel>> PlaneConvolution::Load(
    LoadContext* context, const Problem& problem, std::unique_ptr<PlaneLayer> layer) {
  std::unique_ptr<PlaneConvolution> convolution(
      new PlaneConvolution(problem, context->width(), std::move(layer)));
  PLAIT_RETURN_IF_ERROR(convolution->LoadWeights(context));
  convolution->ChooseChunks();
  PLAIT_RETURN_IF_ERROR(convolution->AllocateMemory(context));
  return convolution;
}

absl::Status PlaneConvolution::LoadWeights(LoadContext* context) {
  const int64_t window = problem_.window[0] * problem_.window[1];
  const auto read = [&](const float* values, int64_t column, float* numbers) {
    const float* const filter = values + column * problem_.channels * window;
    for (int64_t c = 0; c < problem_.channels; ++c) {
      for (int64_t place = 0; place < window; ++place) {
        numbers[DepthOf(c, place)] = filter[c * window + place];
      }
    }
  };
  const Fingerprint how =
      FingerprintBuilder().Add("convolution").Add(problem_.channels).Add(window).Finish();
  return layer_->PackWeights(context, channel_steps_ * window, how, read);
}

int64_t PlaneConvolution::DepthOf(int64_t channel, int64_t place) const {
  const int64_t step = layer_->step_numbers();
  const int64_t window = problem_.window[0] * problem_.window[1];
  return (channel / step * window + place) * step + channel % step;
}

void PlaneConvolution::ChooseChunks() {
  const int64_t blocks = layer_->weights().blocks();
  const int64_t rows = problem_.result_size[0];
  if (rows * problem_.result_size[1] > problem_.result_channels) {
    chunk_blocks_ = blocks;
    chunk_pieces_ = row_pieces_ * std::clamp<int64_t>(rows / (int64_t{8} * width_), 1, 4);
  } else {
    chunk_blocks_ = std::clamp<int64_t>(blocks / (int64_t{4} * width_), 1, 2);
    chunk_pieces_ = row_pieces_ * rows;
  }
}

// A row of the window is a block, or, where it is a single place, a column; and a window of one
// place is the row of a matrix.
PlaneTile PlaneConvolution::TileShape() const {
  PlaneTile tile;
  tile.left_row_bytes = static_cast<int32_t>(problem_.strides[1] * pixel_bytes_);
  tile.left_plane_bytes = static_cast<int32_t>(plane_bytes_);
  const auto down = static_cast<int32_t>(problem_.dilations[0] * row_bytes_);
  const auto right = static_cast<int32_t>(problem_.dilations[1] * pixel_bytes_);
  const bool is_column = problem_.window[1] == 1;
  tile.block_steps.clear();
  for (int i = 0; i < problem_.window[is_column ? 0 : 1]; ++i) {
    tile.block_steps.push_back(i * (is_column ? down : right));
  }
  if (is_column && problem_.window[0] == 1) {
    SetDepth(tile, channel_steps_ * PlaneLayer::kStepBytes);
  } else if (!is_column && problem_.window[0] > 1) {
    tile.repeats.push_back({static_cast<int>(problem_.window[0]), down});
  }
  if (channel_steps_ > 1 && (!is_column || problem_.window[0] > 1)) {
    tile.repeats.push_back(
        {static_cast<int>(channel_steps_), static_cast<int32_t>(PlaneLayer::kStepBytes)});
  }
  if (chunk_blocks_ < layer_->weights().blocks()) {
    // Of the next block, an equal share with each tile that uses this one.
    const int64_t lines =
        int64_t{layer_->planes()} * PlaneWeights::kBlockColumns / CeilDiv(chunk_pieces_, 2);
    tile.prefetch_bytes_per_step = static_cast<int32_t>(lines * 64);
  }
  return tile;
}

absl::Status PlaneConvolution::AllocateMemory(LoadContext* context) {
  PlaneTile tile = TileShape();
  tile.rows[0] = static_cast<int>(piece_pixels_);
  for (const int second : {tile.rows[0], 0}) {
    tile.rows[1] = second;
    PLAIT_RETURN_IF_ERROR(layer_->AddTile(tile));
  }
  magnitudes_.resize(problem_.size[0]);
  usual_magnitudes_.resize(problem_.size[0]);
  const int64_t numbers = problem_.size[0] * problem_.size[1] * problem_.channels;
  outliers_max_ = static_cast<size_t>(std::max(kOutliersMin, numbers / kNumbersOfOutlier));
  outliers_.reserve(outliers_max_);
  PLAIT_RETURN_IF_ERROR(layer_->AllocateSums(context));
  PLAIT_ASSIGN_OR_RETURN(planes_, context->AllocateScratch(layer_->planes() * plane_bytes_));
  return absl::OkStatus();
}

absl::Status PlaneConvolution::Run() {
  for (int64_t image = 0; image < problem_.images; ++image) {
    PLAIT_RETURN_IF_ERROR(RunImage(image));
  }
  return absl::OkStatus();
}

absl::Status PlaneConvolution::RunImage(int64_t image) {
  const float* const numbers =
      layer_->source() + image * problem_.size[0] * problem_.size[1] * problem_.channels;
  const float scale = layer_->has_scales() ? ScaleOf(numbers) : 1;
  if (scale == kNoDigitScale) {
    ForEachPart(width_, problem_.result_size[0], [&](int64_t begin, int64_t end, int) {
      MultiplyRows(image, {begin, end});
    });
    return absl::OkStatus();
  }
  std::fill(std::begin(row_scales_), std::end(row_scales_), scale);
  ForEachPart(width_, PaddedSize(problem_, 0),
              [&](int64_t begin, int64_t end, int) { SplitRows(numbers, scale, begin, end); });
  for (const Outlier& outlier : outliers_) ClearNumber(outlier.element);
  const int64_t chunks = CeilDiv(layer_->weights().blocks(), chunk_blocks_) *
                         CeilDiv(problem_.result_size[0] * row_pieces_, chunk_pieces_);
  return layer_->RunChunks(chunks, [&](int64_t chunk, int, PlaneLayer::Lane& lane) {
    return RunChunk(image, chunk, lane);
  });
}

float PlaneConvolution::ScaleOf(const float* image) {
  const int64_t row_floats = problem_.size[1] * problem_.channels;
  ForEachPart(width_, problem_.size[0], [&](int64_t begin, int64_t end, int) {
    for (int64_t y = begin; y < end; ++y) {
      magnitudes_[y] = Loops().magnitudes(image + y * row_floats, row_floats);
    }
  });
  Magnitudes all{};
  for (const Magnitudes& row : magnitudes_) {
    all.largest = std::max(all.largest, row.largest);
    // Has a NaN or an infinity wherever there is one.
    all.sum += row.sum;
  }
  if (!std::isfinite(all.sum)) return kNoDigitScale;
  return Loops().digit_scale(MagnitudeWithoutOutliers(image, all));
}

// As of a row of a product (see digit_loops_body.h).
float PlaneConvolution::MagnitudeWithoutOutliers(const float* image, const Magnitudes& all) {
  const int64_t row_floats = problem_.size[1] * problem_.channels;
  const float mean = all.sum / static_cast<float>(problem_.size[0] * row_floats);
  outliers_.clear();
  if (!(all.largest > kOutlierMeans * mean)) return all.largest;
  ForEachPart(width_, problem_.size[0], [&](int64_t begin, int64_t end, int) {
    for (int64_t y = begin; y < end; ++y) {
      usual_magnitudes_[y] = Loops().usual_magnitudes(image + y * row_floats, row_floats, 2 * mean);
    }
  });
  UsualMagnitudes usual{};
  for (const UsualMagnitudes& row : usual_magnitudes_) {
    usual.sum += row.sum;
    usual.count += row.count;
  }
  float limit = kOutlierUsuals * usual.sum / usual.count;
  if (limit == 0) return all.largest;
  for (; all.largest > limit; limit *= 2) {
    float largest = 0;
    if (FindOutliers(image, limit, &largest)) return largest;
  }
  outliers_.clear();
  return all.largest;
}

bool PlaneConvolution::FindOutliers(const float* image, float limit, float* largest) {
  const int64_t row_floats = problem_.size[1] * problem_.channels;
  outliers_.clear();
  for (int64_t y = 0; y < problem_.size[0]; ++y) {
    if (magnitudes_[y].largest <= limit) {
      *largest = std::max(*largest, magnitudes_[y].largest);
      continue;
    }
    for (int64_t i = y * row_floats; i < (y + 1) * row_floats; ++i) {
      if (std::abs(image[i]) <= limit) {
        *largest = std::max(*largest, std::abs(image[i]));
      } else if (outliers_.size() == outliers_max_) {
        return false;
      } else {
        outliers_.push_back({i, image[i]});
      }
    }
  }
  return true;
}

void PlaneConvolution::SplitRows(const float* image, float scale, int64_t begin, int64_t end) {
  const auto left_bytes = static_cast<size_t>(problem_.pads_begin[1] * pixel_bytes_);
  const auto right_bytes = static_cast<size_t>(problem_.pads_end[1] * pixel_bytes_);
  const int64_t row_floats = problem_.size[1] * problem_.channels;
  for (int64_t row = begin; row < end; ++row) {
    const int64_t y = row - problem_.pads_begin[0];
    // An image of zeros has no scale to divide by.
    const bool is_empty = y < 0 || y >= problem_.size[0] || scale == 0;
    PlaneRows pixels{.x = image + y * row_floats,
                     .x_row_floats = problem_.channels,
                     .rows = problem_.size[1],
                     .size = problem_.channels,
                     .plane_size = channel_steps_ * layer_->step_numbers(),
                     .planes = {},
                     .stride_bytes = pixel_bytes_,
                     .common_scale = scale};
    for (int plane = 0; plane < layer_->planes(); ++plane) {
      std::byte* const begin_of_row = planes_ + plane * plane_bytes_ + row * row_bytes_;
      if (is_empty) {
        std::memset(begin_of_row, 0, static_cast<size_t>(row_bytes_));
        continue;
      }
      std::memset(begin_of_row, 0, left_bytes);
      std::memset(begin_of_row + row_bytes_ - right_bytes, 0, right_bytes);
      pixels.planes[plane] = begin_of_row + left_bytes;
    }
    if (!is_empty) layer_->Split(pixels);
  }
}

void PlaneConvolution::ClearNumber(int64_t element) {
  const int64_t pixel = element / problem_.channels;
  const int64_t row = pixel / problem_.size[1] + problem_.pads_begin[0];
  const int64_t column = pixel % problem_.size[1] + problem_.pads_begin[1];
  const int64_t place = row * row_bytes_ + column * pixel_bytes_ +
                        element % problem_.channels * layer_->number_bytes();
  for (int plane = 0; plane < layer_->planes(); ++plane) {
    std::memset(planes_ + plane * plane_bytes_ + place, 0,
                static_cast<size_t>(layer_->number_bytes()));
  }
}

absl::Status PlaneConvolution::RunChunk(int64_t image, int64_t chunk,
                                        PlaneLayer::Lane& lane) const {
  const int64_t pieces = problem_.result_size[0] * row_pieces_;
  const int64_t groups = CeilDiv(pieces, chunk_pieces_);
  const int64_t begin = chunk % groups * chunk_pieces_;
  const int64_t end = std::min(pieces, begin + chunk_pieces_);
  const int64_t first = chunk / groups * chunk_blocks_;
  const int64_t last = std::min(layer_->weights().blocks(), first + chunk_blocks_);
  for (int64_t block = first; block < last; ++block) {
    for (int64_t piece = begin; piece < end; piece += 2) {
      PLAIT_RETURN_IF_ERROR(RunTile(image, piece, end, block, (piece - begin) / 2, lane));
    }
  }
  for (const Outlier& outlier : outliers_) {
    AddNumber(image, outlier.element, outlier.number, {begin / row_pieces_, end / row_pieces_},
              {first, last});
  }
  // Whole rows of pixels, one behind the other.
  const int64_t row_pixels = problem_.result_size[1];
  const int64_t image_begin = image * problem_.result_size[0] * row_pixels;
  const int64_t columns_begin = first * PlaneWeights::kBlockColumns;
  const int64_t columns_end =
      std::min(problem_.result_channels, last * PlaneWeights::kBlockColumns);
  for (int64_t pixel = begin / row_pieces_ * row_pixels; pixel < end / row_pieces_ * row_pixels;
       ++pixel) {
    const int64_t of_images = image_begin + pixel;
    const bool is_in_planes =
        lane.is_finite ||
        layer_->IsFinite(first, last, layer_->result() + of_images * problem_.result_channels);
    if (!is_in_planes) MultiplyPixel(of_images, {first, last});
    layer_->Finish(of_images, columns_begin, columns_end);
  }
  return absl::OkStatus();
}

PlaneLayer::Piece PlaneConvolution::PieceOf(int64_t image, int64_t piece) const {
  const int64_t y = piece / row_pieces_;
  const int64_t x = piece % row_pieces_ * piece_pixels_;
  const int64_t row_pixels = problem_.result_size[1];
  const int64_t pixel = (image * problem_.result_size[0] + y) * row_pixels + x;
  const int64_t begin =
      y * problem_.strides[0] * row_bytes_ + x * problem_.strides[1] * pixel_bytes_;
  return {planes_ + begin, layer_->planes() * plane_bytes_ - begin, row_scales_,
          static_cast<int>(std::min(piece_pixels_, row_pixels - x)),
          layer_->result() + pixel * problem_.result_channels};
}

absl::Status PlaneConvolution::RunTile(int64_t image, int64_t piece, int64_t end, int64_t block,
                                       int64_t turn, PlaneLayer::Lane& lane) const {
  const auto rows = static_cast<int>(piece_pixels_);
  if (piece + 1 == end) {
    const PlaneLayer::Piece pieces[] = {PieceOf(image, piece)};
    return layer_->Multiply(pieces, {rows, 0}, block, turn, lane);
  }
  const PlaneLayer::Piece pieces[] = {PieceOf(image, piece), PieceOf(image, piece + 1)};
  return layer_->Multiply(pieces, {rows, rows}, block, turn, lane);
}

void PlaneConvolution::AddNumber(int64_t image, int64_t element, float number, const Range& rows,
                                 const Range& blocks) const {
  const int64_t channel = element % problem_.channels;
  const int64_t pixel = element / problem_.channels;
  const int64_t from[2] = {pixel / problem_.size[1] + problem_.pads_begin[0],
                           pixel % problem_.size[1] + problem_.pads_begin[1]};
  const int64_t window = problem_.window[0] * problem_.window[1];
  for (int64_t place = 0; place < window; ++place) {
    const int64_t down = from[0] - place / problem_.window[1] * problem_.dilations[0];
    const int64_t right = from[1] - place % problem_.window[1] * problem_.dilations[1];
    if (down < 0 || right < 0 || down % problem_.strides[0] != 0 ||
        right % problem_.strides[1] != 0) {
      continue;
    }
    const int64_t y = down / problem_.strides[0];
    const int64_t x = right / problem_.strides[1];
    if (y < rows.begin || y >= rows.end || x >= problem_.result_size[1]) continue;
    const int64_t row = (image * problem_.result_size[0] + y) * problem_.result_size[1] + x;
    layer_->AddNumber(number, DepthOf(channel, place), blocks.begin, blocks.end,
                      layer_->result() + row * problem_.result_channels);
  }
}

void PlaneConvolution::MultiplyRows(int64_t image, const Range& rows) const {
  const int64_t row_pixels = problem_.result_size[1];
  const int64_t first = image * problem_.result_size[0] * row_pixels;
  for (int64_t pixel = first + rows.begin * row_pixels; pixel < first + rows.end * row_pixels;
       ++pixel) {
    MultiplyPixel(pixel, {0, layer_->weights().blocks()});
    layer_->Finish(pixel, 0, problem_.result_channels);
  }
}

void PlaneConvolution::MultiplyPixel(int64_t pixel, const Range& blocks) const {
  float* const result = layer_->result() + pixel * problem_.result_channels;
  layer_->Begin(blocks.begin, blocks.end, result);
  const int64_t row = pixel / problem_.result_size[1];
  const int64_t image = row / problem_.result_size[0];
  const int64_t top = row % problem_.result_size[0] * problem_.strides[0] - problem_.pads_begin[0];
  const int64_t left =
      pixel % problem_.result_size[1] * problem_.strides[1] - problem_.pads_begin[1];
  const int64_t window = problem_.window[0] * problem_.window[1];
  for (int64_t place = 0; place < window; ++place) {
    const int64_t y = top + place / problem_.window[1] * problem_.dilations[0];
    const int64_t x = left + place % problem_.window[1] * problem_.dilations[1];
    if (y < 0 || y >= problem_.size[0] || x < 0 || x >= problem_.size[1]) continue;
    const float* const numbers =
        layer_->source() +
        ((image * problem_.size[0] + y) * problem_.size[1] + x) * problem_.channels;
    for (int64_t channel = 0; channel < problem_.channels; ++channel) {
      layer_->AddNumber(numbers[channel], DepthOf(channel, place), blocks.begin, blocks.end,
                        result);
    }
  }
}

}  // namespace plait
