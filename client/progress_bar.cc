#include "client/progress_bar.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace plait {
namespace {

// 72 columns: fits the narrowest terminal in use, of 80, without asking for its width.
constexpr int kColumns = 72;
constexpr double kSecondsShownMax = 86'400;

}  // namespace

std::string ProgressLine(const ShownProgress& progress, int columns) {
  // The numbers come from a server, so they may be anything.
  const double part =
      std::isfinite(progress.fraction) ? std::clamp(progress.fraction, 0.0, 1.0) : 0.0;
  // 42: the phase, the brackets, the percentage, the speed-up and the time.
  const int width = std::max(columns, 50) - 42;
  const int filled = static_cast<int>(part * width);
  std::string bar(static_cast<size_t>(filled), '=');
  if (filled < width) {
    bar.push_back('>');
    bar.append(static_cast<size_t>(width - filled - 1), ' ');
  }
  std::string line = absl::StrFormat("%-13.13s [%s] %3d %%", progress.phase, bar,
                                     static_cast<int>(std::lround(part * 100)));
  if (progress.speedup > 0) {
    absl::StrAppendFormat(&line, "  %.2fx", progress.speedup);
  } else if (progress.speedup_predicted > 0) {
    absl::StrAppendFormat(&line, "  ~%.2fx", progress.speedup_predicted);
  }
  // Of less than a second there is nothing to tell; more than a day is no time that a job has.
  if (progress.seconds_left >= 1 && progress.seconds_left <= kSecondsShownMax) {
    absl::StrAppendFormat(&line, "  %d s left", std::lround(progress.seconds_left));
  }
  return line;
}

void ProgressBar::Show(const v1::Event& event) {
  const std::string before = progress_.phase;
  if (event.type() == v1::EVENT_TYPE_QUEUED) progress_ = {.phase = "queued"};
  if (event.type() == v1::EVENT_TYPE_PHASE) progress_.phase = event.text();
  if (event.type() == v1::EVENT_TYPE_PHASE || event.type() == v1::EVENT_TYPE_PROGRESS) {
    progress_.fraction = event.fraction();
    progress_.seconds_left = event.seconds_left();
  }
  if (event.type() == v1::EVENT_TYPE_INCUMBENT) progress_.speedup_predicted = event.speedup();
  if (event.type() == v1::EVENT_TYPE_MEASURED) progress_.speedup = event.speedup();
  if (is_terminal_) {
    // Back to the beginning of the line, and the rest of the old one is erased.
    out_ << "\r\x1b[K" << ProgressLine(progress_, kColumns);
    out_.flush();
    drawn_ = true;
  } else if (progress_.phase != before) {
    out_ << progress_.phase << "\n";
    out_.flush();
  }
  // A person who waits wants to know why it takes longer.
  if (event.type() == v1::EVENT_TYPE_WORKER_LOST) {
    Clear();
    out_ << event.text() << "; what it measured is measured again\n";
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
