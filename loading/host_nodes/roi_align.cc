#include <algorithm>
#include <array>
#include <cmath>

#include "base/limits.h"
#include "base/status_macros.h"
#include "loading/host_nodes/operators.h"

namespace plait {
namespace {

struct Pooling {
  bool is_max = false;
  bool is_half_pixel = true;  // pixels are centred in their places
  int64_t height = 1;
  int64_t width = 1;
  int64_t samples = 0;  // along each side of a bin; 0: about one a pixel
  float scale = 1;
};

// Samples of one region: 200 MB of them.
constexpr int64_t kSamplesMax = int64_t{1} << 22;

// A sample between four pixels, with their weights.
struct Sample {
  std::array<int64_t, 4> places = {};
  std::array<float, 4> weights = {};
};

// Where a coordinate lies between two pixels.
struct Between {
  int64_t low = 0;
  int64_t high = 0;
  float of_high = 0;
};

Between Locate(float at, int64_t size) {
  at = std::max(at, 0.0F);
  const auto low = static_cast<int64_t>(at);
  if (low >= size - 1) return {size - 1, size - 1, 0};
  return {low, low + 1, at - static_cast<float>(low)};
}

// One that lies more than a pixel outside, or nowhere (NaN), counts nothing.
Sample SampleAt(float y, float x, int64_t height, int64_t width) {
  const bool is_inside =
      y >= -1 && y <= static_cast<float>(height) && x >= -1 && x <= static_cast<float>(width);
  if (!is_inside) return {};
  const Between row = Locate(y, height);
  const Between column = Locate(x, width);
  return {{row.low * width + column.low, row.low * width + column.high,
           row.high * width + column.low, row.high * width + column.high},
          {(1 - row.of_high) * (1 - column.of_high), (1 - row.of_high) * column.of_high,
           row.of_high * (1 - column.of_high), row.of_high * column.of_high}};
}

// The samples of all bins of a region, `per_bin` for each.
struct Samples {
  std::vector<Sample> all;
  int64_t per_bin = 0;
};

// `region`: left, top, right, bottom.
absl::StatusOr<Samples> SamplesOf(const float* region, const Pooling& pooling, const Shape& image) {
  const float offset = pooling.is_half_pixel ? 0.5F : 0.0F;
  const float left = region[0] * pooling.scale - offset;
  const float top = region[1] * pooling.scale - offset;
  float width = region[2] * pooling.scale - offset - left;
  float height = region[3] * pooling.scale - offset - top;
  if (!pooling.is_half_pixel) {
    width = std::max(width, 1.0F);
    height = std::max(height, 1.0F);
  }
  const float bin_height = height / static_cast<float>(pooling.height);
  const float bin_width = width / static_cast<float>(pooling.width);
  const auto count = [&](float bin) {
    return pooling.samples > 0 ? static_cast<float>(pooling.samples) : std::ceil(bin);
  };
  const float rows = count(bin_height);
  const float columns = count(bin_width);
  // A region that is larger than any image is nobody's.
  if (!(rows <= 1024) || !(columns <= 1024)) {
    return absl::InvalidArgumentError(
        absl::StrCat("a region of ", height, " by ", width, " pixels is too large"));
  }
  Samples samples;
  samples.per_bin = static_cast<int64_t>(std::max(rows, 0.0F) * std::max(columns, 0.0F));
  if (pooling.height >
      kSamplesMax / std::max<int64_t>(1, samples.per_bin) / std::max<int64_t>(1, pooling.width)) {
    return absl::ResourceExhaustedError(absl::StrCat(samples.per_bin, " samples for each of ",
                                                     pooling.height, " by ", pooling.width,
                                                     " bins are too many"));
  }
  for (int64_t bin_row = 0; bin_row < pooling.height; ++bin_row) {
    for (int64_t bin_column = 0; bin_column < pooling.width; ++bin_column) {
      for (float row = 0; row < rows; ++row) {
        const float y =
            top + static_cast<float>(bin_row) * bin_height + (row + 0.5F) * bin_height / rows;
        for (float column = 0; column < columns; ++column) {
          const float x = left + static_cast<float>(bin_column) * bin_width +
                          (column + 0.5F) * bin_width / columns;
          samples.all.push_back(SampleAt(y, x, image[2], image[3]));
        }
      }
    }
  }
  return samples;
}

float MeanOf(absl::Span<const Sample> samples, const float* channel) {
  float sum = 0;
  for (const Sample& sample : samples) {
    for (int corner = 0; corner < 4; ++corner) {
      sum += sample.weights[corner] * channel[sample.places[corner]];
    }
  }
  return sum / static_cast<float>(std::max<size_t>(samples.size(), 1));
}

// As ONNX defines it: of what each corner brings, not of the samples.
float LargestOf(absl::Span<const Sample> samples, const float* channel) {
  float largest = 0;
  bool is_first = true;
  for (const Sample& sample : samples) {
    for (int corner = 0; corner < 4; ++corner) {
      const float value = sample.weights[corner] * channel[sample.places[corner]];
      largest = is_first ? value : std::max(largest, value);
      is_first = false;
    }
  }
  return largest;
}

absl::Status CheckRegionTypes(absl::Span<const Tensor> inputs) {
  const TensorType& image = inputs[0].type();
  const TensorType& regions = inputs[1].type();
  const TensorType& images = inputs[2].type();
  const bool are_floats = image.dtype == DataType::kFloat32 && regions.dtype == DataType::kFloat32;
  if (are_floats && image.rank() == 4 && regions.rank() == 2 && regions.shape[1] == 4 &&
      images.dtype == DataType::kInt64 && images.shape == Shape{regions.shape[0]}) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("images ", image.ToString(), ", regions ",
                                                 regions.ToString(), " and their images ",
                                                 images.ToString(), " do not belong together"));
}

absl::StatusOr<std::vector<Tensor>> RoiAlign(absl::Span<const Tensor> inputs,
                                             const Pooling& pooling) {
  PLAIT_RETURN_IF_ERROR(CheckGiven(inputs, 3));
  PLAIT_RETURN_IF_ERROR(CheckRegionTypes(inputs));
  const Shape& shape = inputs[0].type().shape;
  const std::vector<float> image = ElementsAs<float>(inputs[0]);
  const std::vector<float> regions = ElementsAs<float>(inputs[1]);
  const int64_t count = inputs[2].elements();
  const int64_t bins = pooling.height * pooling.width;
  const TensorType type = {DataType::kFloat32, {count, shape[1], pooling.height, pooling.width}};
  if (!IsValidShape(type.shape)) {
    return absl::InvalidArgumentError(absl::StrCat("a result of ", type.ToString()));
  }
  if (shape[2] == 0 || shape[3] == 0) {
    return absl::InvalidArgumentError("an image without pixels has no regions");
  }
  if (type.elements() > kEvaluatedElementsMax) {
    return absl::ResourceExhaustedError(absl::StrCat("a result of ", type.ToString()));
  }
  std::vector<float> result;
  result.reserve(static_cast<size_t>(type.elements()));
  for (int64_t region = 0; region < count; ++region) {
    const auto of_image = inputs[2].at<int64_t>(region);
    if (of_image < 0 || of_image >= shape[0]) {
      return absl::InvalidArgumentError(
          absl::StrCat("region ", region, " is of image ", of_image, ", there are ", shape[0]));
    }
    PLAIT_ASSIGN_OR_RETURN(const Samples samples, SamplesOf(&regions[region * 4], pooling, shape));
    for (int64_t channel = 0; channel < shape[1]; ++channel) {
      const float* const pixels =
          image.data() + (of_image * shape[1] + channel) * shape[2] * shape[3];
      for (int64_t bin = 0; bin < bins; ++bin) {
        const auto of_bin =
            absl::MakeConstSpan(samples.all).subspan(bin * samples.per_bin, samples.per_bin);
        result.push_back(pooling.is_max ? LargestOf(of_bin, pixels) : MeanOf(of_bin, pixels));
      }
    }
  }
  return std::vector<Tensor>{Tensor::Of<float>(type.shape, result)};
}

}  // namespace

// Each region of an image, cut into bins: the mean, or the largest, of samples between its pixels.
absl::StatusOr<HostOperator> MakeRoiAlign(const HostNode& node) {
  Pooling pooling;
  const std::string mode = node.Text("mode", "avg");
  const absl::string_view usual = node.opset < 16 ? "output_half_pixel" : "half_pixel";
  const std::string coordinates = node.Text("coordinate_transformation_mode", usual);
  pooling.is_max = mode == "max";
  pooling.is_half_pixel = coordinates == "half_pixel";
  pooling.height = node.Integer("output_height", 1);
  pooling.width = node.Integer("output_width", 1);
  pooling.samples = node.Integer("sampling_ratio", 0);
  pooling.scale = node.Number("spatial_scale", 1);
  const bool is_known = (pooling.is_max || mode == "avg") &&
                        (pooling.is_half_pixel || coordinates == "output_half_pixel");
  const auto fits = [](int64_t size) { return size >= 1 && size <= 1024; };
  if (!is_known || !fits(pooling.height) || !fits(pooling.width) || pooling.samples < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("bins of ", pooling.height, "x", pooling.width, ", mode '", mode,
                     "', coordinates '", coordinates, "' and ", pooling.samples, " samples"));
  }
  return [pooling](absl::Span<const Tensor> inputs) { return RoiAlign(inputs, pooling); };
}

}  // namespace plait
