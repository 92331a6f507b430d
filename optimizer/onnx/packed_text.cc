#include "optimizer/onnx/packed_text.h"

#include <algorithm>

#include <zlib.h>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"

namespace plait {
namespace {

// Below 4 GiB, which zlib's counters hold.
static_assert(sizeof(uInt) == 4);
// Says how the rest is packed, so that another way can be told apart.
constexpr absl::string_view kPrefix = "zlib:";
constexpr size_t kChunkBytes = 64 << 10;

// zlib's stream, which frees itself.
class Inflating {
 public:
  explicit Inflating(absl::string_view bytes) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream_.avail_in = static_cast<uInt>(bytes.size());
    begun_ = inflateInit(&stream_) == Z_OK;
  }
  ~Inflating() {
    if (begun_) inflateEnd(&stream_);
  }
  Inflating(const Inflating&) = delete;
  Inflating& operator=(const Inflating&) = delete;

  // Appends up to `count` further bytes of the text.
  int Next(size_t count, std::string* text) {
    if (!begun_) return Z_MEM_ERROR;
    const size_t before = text->size();
    text->resize(before + count);
    stream_.next_out = reinterpret_cast<Bytef*>(text->data() + before);
    stream_.avail_out = static_cast<uInt>(count);
    const int code = inflate(&stream_, Z_NO_FLUSH);
    text->resize(before + count - stream_.avail_out);
    return code;
  }
  bool has_rest() const { return stream_.avail_in > 0; }

 private:
  z_stream stream_ = {};
  bool begun_ = false;
};

}  // namespace

std::string PackText(absl::string_view text) {
  std::string bytes(compressBound(text.size()), '\0');
  uLongf size = bytes.size();
  // 9: a text is packed once and carried for as long as the model is.
  PLAIT_CHECK(compress2(reinterpret_cast<Bytef*>(bytes.data()), &size,
                        reinterpret_cast<const Bytef*>(text.data()), text.size(), 9) == Z_OK);
  bytes.resize(size);
  return absl::StrCat(kPrefix, absl::Base64Escape(bytes));
}

absl::StatusOr<std::string> UnpackText(absl::string_view packed, int64_t bytes_max) {
  // Nothing that is packed grows by half.
  if (static_cast<int64_t>(packed.size()) / 2 > bytes_max) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the packed text has more than ", bytes_max, " bytes"));
  }
  std::string bytes;
  if (!absl::ConsumePrefix(&packed, kPrefix) || !absl::Base64Unescape(packed, &bytes)) {
    return absl::InvalidArgumentError("the text is not packed as plait does it");
  }
  Inflating inflating(bytes);
  std::string text;
  int code = Z_OK;
  while (code == Z_OK) {
    // One more than is allowed tells that there is more.
    const size_t room = static_cast<size_t>(bytes_max) + 1 - text.size();
    code = inflating.Next(std::min(kChunkBytes, room), &text);
    if (static_cast<int64_t>(text.size()) > bytes_max) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the packed text has more than ", bytes_max, " bytes"));
    }
  }
  if (code != Z_STREAM_END || inflating.has_rest()) {
    return absl::InvalidArgumentError("the packed text is damaged");
  }
  return text;
}

}  // namespace plait
