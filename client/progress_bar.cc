#include "client/progress_bar.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace plait {
namespace {

// 72 columns: fits the narrowest terminal in use, of 80, without asking for its width.
constexpr int kColumns = 72;

}  // namespace

std::string ProgressLine(absl::string_view phase, double fraction, double speedup, int columns) {
  // The number comes from a server, so it may be anything.
  const double part = std::isfinite(fraction) ? std::clamp(fraction, 0.0, 1.0) : 0.0;
  // 28: the phase, the brackets, the percentage and the speed-up.
  const int width = std::max(columns, 40) - 30;
  const int filled = static_cast<int>(part * width);
  std::string bar(static_cast<size_t>(filled), '=');
  if (filled < width) {
    bar.push_back('>');
    bar.append(static_cast<size_t>(width - filled - 1), ' ');
  }
  std::string line = absl::StrFormat("%-13.13s [%s] %3d %%", phase, bar,
                                     static_cast<int>(std::lround(part * 100)));
  if (speedup > 0) absl::StrAppendFormat(&line, "  %.2fx", speedup);
  return line;
}

void ProgressBar::Show(const v1::Event& event) {
  if (event.fraction() > 0) fraction_ = event.fraction();
  if (event.speedup() > 0) speedup_ = event.speedup();
  const std::string phase = event.type() == v1::EVENT_TYPE_PHASE    ? event.text()
                            : event.type() == v1::EVENT_TYPE_QUEUED ? "queued"
                                                                    : phase_;
  const bool changed = phase != phase_;
  phase_ = phase;
  if (is_terminal_) {
    // Back to the beginning of the line, and the rest of the old one is erased.
    out_ << "\r\x1b[K" << ProgressLine(phase_, fraction_, speedup_, kColumns);
    out_.flush();
    drawn_ = true;
  } else if (changed) {
    out_ << phase_ << "\n";
    out_.flush();
  }
  // A person who waits wants to know why it takes longer.
  if (event.type() == v1::EVENT_TYPE_WORKER_LOST) {
    Clear();
    out_ << "worker lost: " << event.text() << "\n";
    out_.flush();
  }
}

void ProgressBar::Clear() {
  if (!drawn_) return;
  out_ << "\r\x1b[K";
  out_.flush();
  drawn_ = false;
}

}  // namespace plait
