#include "gpu_worker/backends/cpu/kernels/byte_weights.h"

#include <algorithm>

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/kernels/operands.h"

namespace plait {
namespace {

int64_t WindowTaps(const IntegerConvolution& layer) {
  return layer.window[0].kernel * layer.window[1].kernel;
}

// The weights of a channel of the result, [C/g, taps], less their zero point.
class ChannelWeights {
 public:
  ChannelWeights(const IntegerConvolution& layer, const Tensor& values, int64_t channel)
      : bytes_(reinterpret_cast<const uint8_t*>(values.bytes().data()) + channel * layer.depth()),
        is_signed_(values.type().dtype == DataType::kInt8),
        zero_point_(layer.weights_zero_point.integer(channel)) {}

  int32_t At(int64_t place) const {
    const int32_t value = is_signed_ ? static_cast<int32_t>(static_cast<int8_t>(bytes_[place]))
                                     : static_cast<int32_t>(bytes_[place]);
    return value - zero_point_;
  }

 private:
  const uint8_t* bytes_;
  bool is_signed_;
  int32_t zero_point_;
};

bool HasNoPadding(const WindowAxis& axis) { return axis.pad_begin == 0 && axis.pad_end == 0; }

// A whole line of the window is a segment where its channels lie beside each other.
bool HasWholeLines(const ByteLayer& layer) { return layer.window[1].dilation == 1; }

// [block][segment][quad][column][4], of as many vectors of columns as the block has; 0 behind the
// last channel of the source and of the result.
void PackBlocks(const Tensor& values, const ByteLayer& layer, int8_t* to) {
  const int64_t taps = WindowTaps(layer);
  const int64_t taps_of_segment = taps / static_cast<int64_t>(layer.segments.size());
  for (int64_t m = 0; m < layer.channels; ++m) {
    const int64_t column = m % kByteBlockChannels;
    const int64_t first = m - column;
    const int64_t columns =
        CeilDiv(std::min<int64_t>(kByteBlockChannels, layer.channels - first), kByteColumns) *
        kByteColumns;
    int8_t* const block = to + m / kByteBlockChannels * layer.block_bytes() + column * 4;
    const ChannelWeights weights(layer, values, m);
    for (int64_t tap = 0; tap < taps; ++tap) {
      for (int64_t c = 0; c < layer.source_channels; ++c) {
        const int64_t place = tap % taps_of_segment * layer.source_channels + c;
        const int64_t quad = tap / taps_of_segment * layer.quads + place / 4;
        block[quad * columns * 4 + place % 4] = static_cast<int8_t>(weights.At(c * taps + tap));
      }
    }
  }
}

// [block][four lines of the window][column][place of a channel][4]
void PackTaps(const Tensor& values, const ByteLayer& layer, int8_t* to) {
  const int64_t taps = WindowTaps(layer);
  const int64_t columns = layer.window[1].kernel;
  for (int64_t m = 0; m < layer.groups; ++m) {
    const int place = ByteChannelPlace(static_cast<int>(m % kByteBlockChannels));
    int8_t* const block = to + m / kByteBlockChannels * layer.block_bytes();
    const ChannelWeights weights(layer, values, m);
    for (int64_t tap = 0; tap < taps; ++tap) {
      const int64_t line = tap / columns;
      const int64_t at = line / 4 * columns + tap % columns;
      block[(at * kByteBlockChannels + place) * 4 + line % 4] =
          static_cast<int8_t>(weights.At(tap));
    }
  }
}

}  // namespace

bool ByteLayer::is_flat() const {
  return !is_depthwise() && std::all_of(window.begin(), window.end(), [](const WindowAxis& axis) {
    return axis.kernel == 1 && axis.stride == 1 && HasNoPadding(axis);
  });
}

bool ByteLayer::copies() const {
  if (is_depthwise()) return false;
  return pixel_channels() % 4 != 0 || !HasNoPadding(window[0]) || !HasNoPadding(window[1]);
}

int64_t ByteLayer::padded_channels() const {
  return CeilDiv(groups * channels, kByteBlockChannels) * kByteBlockChannels;
}

int64_t ByteLayer::edge_bytes() const { return WindowTaps(*this) * kByteBlockChannels; }

int64_t ByteLayer::block_bytes() const {
  const int64_t quads_of_block = is_depthwise() ? CeilDiv(window[0].kernel, 4) * window[1].kernel
                                                : static_cast<int64_t>(segments.size()) * quads;
  return quads_of_block * kByteBlockChannels * 4;
}

int64_t ByteLayer::PlaceOf(int64_t channel) const {
  if (!is_depthwise()) return channel;
  return channel - channel % kByteBlockChannels +
         ByteChannelPlace(static_cast<int>(channel % kByteBlockChannels));
}

bool HasByteWeights(const IntegerConvolution& layer, const Tensor& values) {
  for (int64_t m = 0; m < layer.groups * layer.channels; ++m) {
    const ChannelWeights weights(layer, values, m);
    for (int64_t place = 0; place < layer.depth(); ++place) {
      if (weights.At(place) < -128 || weights.At(place) > 127) return false;
    }
  }
  return true;
}

void SetByteSegments(ByteLayer* layer) {
  const WindowAxis& rows = layer->window[0];
  const WindowAxis& columns = layer->window[1];
  const int64_t channels = layer->pixel_channels();
  const int64_t in_line = HasWholeLines(*layer) ? 1 : columns.kernel;
  layer->quads = CeilDiv((HasWholeLines(*layer) ? columns.kernel : 1) * channels, 4);
  for (int64_t y = 0; y < rows.kernel; ++y) {
    for (int64_t x = 0; x < in_line; ++x) {
      layer->segments.push_back((y * rows.dilation * layer->line_numbers() + x * columns.dilation) *
                                channels);
    }
  }
}

absl::Status PackByteWeights(LoadContext* context, const Tensor& values, ByteLayer* layer) {
  const int64_t bytes = layer->padded_channels() / kByteBlockChannels * layer->block_bytes();
  const auto segments = static_cast<int64_t>(layer->segments.size());
  const Fingerprint form =
      FingerprintBuilder().Add("bytes").Add(layer->quads).Add(segments).Finish();
  PLAIT_ASSIGN_OR_RETURN(const SharingExecutable::Place place,
                         context->AllocatePacked(bytes, form));
  auto* const weights = reinterpret_cast<int8_t*>(place.data);
  layer->weights = weights;
  if (!place.is_packed) {
    std::fill_n(weights, bytes, int8_t{0});
    if (layer->is_depthwise()) {
      PackTaps(values, *layer, weights);
    } else {
      PackBlocks(values, *layer, weights);
    }
  }
  for (int64_t m = 0; m < layer->groups * layer->channels; ++m) {
    const ChannelWeights of_channel(*layer, values, m);
    int32_t sum = 0;
    for (int64_t place = 0; place < layer->depth(); ++place) sum += of_channel.At(place);
    layer->weight_sums.push_back(sum);
  }
  return absl::OkStatus();
}

}  // namespace plait
