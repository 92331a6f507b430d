#include "gpu_worker/simulated_gpu/device_memory.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"

namespace plait::simulated_gpu {
namespace {

// More than any offset that a faulty kernel of the tests misses an operand by.
constexpr uint64_t kGapBytes = uint64_t{1} << 20;
constexpr uint64_t kAlignment = 256;

}  // namespace

uint64_t DeviceMemory::Allocate(std::string name, int64_t bytes, int64_t address_offset) {
  const uint64_t address = (next_ + kAlignment - 1) / kAlignment * kAlignment + address_offset;
  AllocateAt(std::move(name), address, bytes);
  return address;
}

void DeviceMemory::AllocateAt(std::string name, uint64_t address, int64_t bytes) {
  auto range = std::make_unique<Range>();
  range->name = std::move(name);
  range->address = address;
  range->bytes.resize(bytes);
  range->written.resize(bytes);
  ranges_.push_back(std::move(range));
  next_ = address + bytes + kGapBytes;
}

absl::Status DeviceMemory::Free(uint64_t address) {
  for (auto range = ranges_.begin(); range != ranges_.end(); ++range) {
    if ((*range)->address != address) continue;
    last_found_ = nullptr;
    ranges_.erase(range);
    return absl::OkStatus();
  }
  return absl::NotFoundError(absl::StrFormat("no allocation begins at 0x%x", address));
}

DeviceMemory::Range* DeviceMemory::Find(uint64_t address, int64_t bytes) {
  const auto holds = [&](const Range& range) {
    return address >= range.address && bytes <= static_cast<int64_t>(range.bytes.size()) &&
           address - range.address <= range.bytes.size() - bytes;
  };
  if (last_found_ != nullptr && holds(*last_found_)) return last_found_;
  auto after = std::upper_bound(
      ranges_.begin(), ranges_.end(), address,
      [](uint64_t value, const std::unique_ptr<Range>& range) { return value < range->address; });
  if (after == ranges_.begin()) return nullptr;
  Range* range = std::prev(after)->get();
  if (!holds(*range)) return nullptr;
  last_found_ = range;
  return range;
}

absl::string_view DeviceMemory::NameAt(uint64_t address, uint64_t* start) {
  const Range* range = Find(address, 1);
  if (range == nullptr) return {};
  if (start != nullptr) *start = range->address;
  return range->name;
}

// Names the nearest range below, which is nearly always the one that was meant.
absl::Status DeviceMemory::OutOfRange(uint64_t address, int64_t bytes) {
  const Range* below = nullptr;
  for (const auto& range : ranges_) {
    if (range->address <= address) below = range.get();
  }
  std::string place = "below every allocation";
  if (below != nullptr) {
    place = absl::StrCat(address - below->address, " bytes from the start of \"", below->name,
                         "\", which has ", below->bytes.size());
  }
  return absl::OutOfRangeError(
      absl::StrFormat("out of bounds: %d bytes at 0x%x, %s", bytes, address, place));
}

absl::Status DeviceMemory::Write(uint64_t address, absl::Span<const std::byte> bytes) {
  if (bytes.empty()) return absl::OkStatus();
  Range* range = Find(address, static_cast<int64_t>(bytes.size()));
  if (range == nullptr) return OutOfRange(address, static_cast<int64_t>(bytes.size()));
  const uint64_t offset = address - range->address;
  std::copy(bytes.begin(), bytes.end(), range->bytes.begin() + offset);
  std::fill_n(range->written.begin() + offset, bytes.size(), uint8_t{1});
  return absl::OkStatus();
}

absl::Status DeviceMemory::Read(uint64_t address, absl::Span<std::byte> bytes) {
  if (bytes.empty()) return absl::OkStatus();
  Range* range = Find(address, static_cast<int64_t>(bytes.size()));
  if (range == nullptr) return OutOfRange(address, static_cast<int64_t>(bytes.size()));
  const uint64_t offset = address - range->address;
  const auto first = range->written.begin() + offset;
  const auto unwritten = std::find(first, first + bytes.size(), uint8_t{0});
  if (unwritten != first + bytes.size()) {
    return absl::FailedPreconditionError(absl::StrCat("byte ", unwritten - range->written.begin(),
                                                      " of \"", range->name,
                                                      "\" was never written"));
  }
  std::copy_n(range->bytes.begin() + offset, bytes.size(), bytes.begin());
  return absl::OkStatus();
}

uint64_t DeviceMemory::BeginLaunch(int64_t granule_bytes) {
  ResumeLaunch(++launches_, granule_bytes);
  return launch_;
}

void DeviceMemory::ResumeLaunch(uint64_t launch, int64_t granule_bytes) {
  launch_ = launch;
  granule_bytes_ = granule_bytes;
}

Touches DeviceMemory::TouchesOf(uint64_t launch) const {
  Touches touches;
  for (const auto& range : ranges_) {
    const auto found = range->cells.find(launch);
    if (found == range->cells.end()) continue;
    const RaceCells& cells = found->second;
    cells.AddTo(range->address - range->address % cells.granule_bytes(), &touches);
  }
  return touches;
}

void DeviceMemory::EndLaunch(uint64_t launch) {
  for (const auto& range : ranges_) {
    range->cells.erase(launch);
    if (range->launch == launch) range->cells_of_launch = nullptr;
  }
}

void DeviceMemory::ForgetContents() {
  EndLaunch(launch_);
  BeginLaunch(granule_bytes_);
  for (const auto& range : ranges_) std::fill(range->written.begin(), range->written.end(), 0);
}

absl::Status DeviceMemory::RecordAccess(Range* range, const Accessor& who, int64_t offset,
                                        int64_t bytes, Use use) {
  if (range->cells_of_launch == nullptr || range->launch != launch_) {
    // From the address that a granule begins at, which is not the range's where that is odd.
    const auto [cells, is_new] = range->cells.try_emplace(
        launch_, static_cast<int64_t>(range->bytes.size()) + granule_bytes_, granule_bytes_);
    range->cells_of_launch = &cells->second;
    range->launch = launch_;
  }
  const int64_t shift = static_cast<int64_t>(range->address % granule_bytes_);
  const std::string race = range->cells_of_launch->Record(who, offset + shift, bytes, use);
  if (race.empty()) return absl::OkStatus();
  return absl::AbortedError(absl::StrFormat("race: 0x%x, %d bytes from the start of \"%s\", was %s",
                                            range->address + offset, offset, range->name, race));
}

absl::Status DeviceMemory::Load(const Accessor& who, uint64_t address, int64_t bytes,
                                std::byte* data, Use use) {
  if (address % bytes != 0) {
    return absl::InvalidArgumentError(
        absl::StrFormat("misaligned: 0x%x is no multiple of %d", address, bytes));
  }
  Range* range = Find(address, bytes);
  if (range == nullptr) return OutOfRange(address, bytes);
  const auto offset = static_cast<int64_t>(address - range->address);
  for (int64_t i = offset; i < offset + bytes; ++i) {
    if (range->written[i] != 0) continue;
    // So that TouchesOf() knows of what should have been there.
    RecordAccess(range, who, offset, bytes, use).IgnoreError();
    return absl::FailedPreconditionError(absl::StrFormat(
        "uninitialised: byte %d of \"%s\", at 0x%x", i, range->name, range->address + i));
  }
  PLAIT_RETURN_IF_ERROR(RecordAccess(range, who, offset, bytes, use));
  std::memcpy(data, range->bytes.data() + offset, bytes);
  return absl::OkStatus();
}

absl::Status DeviceMemory::Store(const Accessor& who, uint64_t address, int64_t bytes,
                                 const std::byte* data, Use use) {
  if (address % bytes != 0) {
    return absl::InvalidArgumentError(
        absl::StrFormat("misaligned: 0x%x is no multiple of %d", address, bytes));
  }
  Range* range = Find(address, bytes);
  if (range == nullptr) return OutOfRange(address, bytes);
  const auto offset = static_cast<int64_t>(address - range->address);
  PLAIT_RETURN_IF_ERROR(RecordAccess(range, who, offset, bytes, use));
  std::memcpy(range->bytes.data() + offset, data, bytes);
  std::memset(range->written.data() + offset, 1, bytes);
  return absl::OkStatus();
}

}  // namespace plait::simulated_gpu
