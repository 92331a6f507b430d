#include "client/files/npy.h"

#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"

namespace plait {
namespace {

constexpr absl::string_view kMagic("\x93NUMPY", 6);
// 64 KiB: what version 1 can express; a header of a few words needs no more.
constexpr size_t kHeaderBytesMax = 65536;

struct DescriptorType {
  absl::string_view descriptor;
  DataType dtype;
};
constexpr DescriptorType kTypes[] = {
    {"<f4", DataType::kFloat32}, {"<f8", DataType::kFloat64}, {"<f2", DataType::kFloat16},
    {"|i1", DataType::kInt8},    {"<i2", DataType::kInt16},   {"<i4", DataType::kInt32},
    {"<i8", DataType::kInt64},   {"|u1", DataType::kUint8},   {"<u2", DataType::kUint16},
    {"<u4", DataType::kUint32},  {"<u8", DataType::kUint64},  {"|b1", DataType::kBool},
};

absl::Status Malformed(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("no npy file: ", what));
}

struct Header {
  DataType dtype = DataType::kUndefined;
  bool fortran_order = false;
  Shape shape;
};

// What stands behind "'key':" in the header, up to the end of the header.
// The header is a Python dictionary; it is searched for three keys and never evaluated.
std::optional<absl::string_view> ValueOf(absl::string_view header, absl::string_view key) {
  const std::string quoted = absl::StrCat("'", key, "'");
  size_t at = header.find(quoted);
  if (at == absl::string_view::npos) return std::nullopt;
  absl::string_view rest = absl::StripLeadingAsciiWhitespace(header.substr(at + quoted.size()));
  if (!absl::StartsWith(rest, ":")) return std::nullopt;
  return absl::StripLeadingAsciiWhitespace(rest.substr(1));
}

// Big-endian types are in no row of the table and are refused by that.
absl::StatusOr<DataType> ParseDescriptor(absl::string_view value) {
  if (!absl::StartsWith(value, "'")) return Malformed("structured element types are not read");
  const size_t end = value.find('\'', 1);
  if (end == absl::string_view::npos) return Malformed("the element type does not end");
  const absl::string_view descriptor = value.substr(1, end - 1);
  for (const DescriptorType& type : kTypes) {
    if (type.descriptor == descriptor) return type.dtype;
  }
  return absl::UnimplementedError(
      absl::StrCat("npy element type \"", descriptor, "\" is not supported"));
}

absl::StatusOr<Shape> ParseShape(absl::string_view value) {
  const size_t end = value.find(')');
  if (!absl::StartsWith(value, "(") || end == absl::string_view::npos) {
    return Malformed("the shape is no tuple");
  }
  Shape shape;
  for (absl::string_view part : absl::StrSplit(value.substr(1, end - 1), ',')) {
    part = absl::StripAsciiWhitespace(part);
    if (part.empty()) continue;
    int64_t size = 0;
    if (!absl::SimpleAtoi(part, &size)) return Malformed("a dimension is no number");
    shape.push_back(size);
  }
  // Bounds the product of the dimensions, so that the size in bytes cannot overflow.
  if (!IsValidShape(shape)) return Malformed("the shape is out of limits");
  return shape;
}

absl::StatusOr<Header> ParseHeader(absl::string_view text) {
  const auto descriptor = ValueOf(text, "descr");
  const auto order = ValueOf(text, "fortran_order");
  const auto shape = ValueOf(text, "shape");
  if (!descriptor || !order || !shape) return Malformed("its header lacks a field");
  Header header;
  PLAIT_ASSIGN_OR_RETURN(header.dtype, ParseDescriptor(*descriptor));
  PLAIT_ASSIGN_OR_RETURN(header.shape, ParseShape(*shape));
  header.fortran_order = absl::StartsWith(*order, "True");
  if (!header.fortran_order && !absl::StartsWith(*order, "False")) {
    return Malformed("fortran_order is neither True nor False");
  }
  return header;
}

// Row-major bytes of elements that lie column-major.
// One element at a time: inputs are small beside the models that read them.
std::string RowMajor(absl::string_view bytes, const TensorType& type) {
  const int64_t element = BytesOf(type.dtype);
  std::string result(bytes.size(), '\0');
  std::vector<int64_t> index(type.shape.size(), 0);
  for (int64_t to = 0; to < type.elements(); ++to) {
    int64_t from = 0;
    for (size_t axis = index.size(); axis-- > 0;) from = from * type.shape[axis] + index[axis];
    bytes.substr(from * element, element).copy(result.data() + to * element, element);
    for (size_t axis = index.size(); axis-- > 0;) {
      if (++index[axis] < type.shape[axis]) break;
      index[axis] = 0;
    }
  }
  return result;
}

}  // namespace

absl::StatusOr<Tensor> ReadNpy(absl::string_view bytes) {
  if (!absl::StartsWith(bytes, kMagic) || bytes.size() < 10)
    return Malformed("the magic is missing");
  const auto byte = [&](size_t at) { return static_cast<size_t>(static_cast<uint8_t>(bytes[at])); };
  // Versions differ in the width of the header's length and in its encoding only.
  const size_t version = byte(6);
  if (version < 1 || version > 3)
    return Malformed(absl::StrCat("version ", version, " is unknown"));
  size_t header_bytes = byte(8) | byte(9) << 8;
  size_t header_start = 10;
  if (version > 1) {
    if (bytes.size() < 12) return Malformed("it ends within the header");
    header_bytes |= byte(10) << 16 | byte(11) << 24;
    header_start = 12;
  }
  if (header_bytes > kHeaderBytesMax || header_bytes > bytes.size() - header_start) {
    return Malformed("it ends within the header");
  }
  PLAIT_ASSIGN_OR_RETURN(const Header header,
                         ParseHeader(bytes.substr(header_start, header_bytes)));
  const TensorType type = {header.dtype, header.shape};
  const absl::string_view data = bytes.substr(header_start + header_bytes);
  // Exactly: bytes behind the data are a sign of another format.
  if (static_cast<int64_t>(data.size()) != type.bytes()) {
    return Malformed(
        absl::StrCat(type.ToString(), " needs ", type.bytes(), " bytes, there are ", data.size()));
  }
  return Tensor(type, header.fortran_order ? RowMajor(data, type) : std::string(data));
}

absl::StatusOr<std::string> WriteNpy(const Tensor& tensor) {
  absl::string_view descriptor;
  for (const DescriptorType& type : kTypes) {
    if (type.dtype == tensor.type().dtype) descriptor = type.descriptor;
  }
  if (descriptor.empty()) {
    return absl::UnimplementedError(
        absl::StrCat("numpy has no ", DataTypeName(tensor.type().dtype)));
  }
  const Shape& shape = tensor.type().shape;
  // A tuple of one element has a comma in Python.
  std::string header =
      absl::StrCat("{'descr': '", descriptor, "', 'fortran_order': False, 'shape': (",
                   absl::StrJoin(shape, ", "), shape.size() == 1 ? ",), }" : "), }");
  // The data begins at a multiple of 64 bytes, and the header ends with a line feed.
  while ((10 + header.size() + 1) % 64 != 0) header.push_back(' ');
  header.push_back('\n');
  std::string bytes(kMagic.data(), kMagic.size());
  bytes.append({'\x01', '\x00', static_cast<char>(header.size() & 0xFF),
                static_cast<char>(header.size() >> 8)});
  return absl::StrCat(bytes, header, tensor.bytes());
}

}  // namespace plait
