#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace plait::cuda {

// Lets a worker process tell its supervisor what it is about to do, in memory that both share.
// One writer.
class Attempt {
 public:
  // `line`: what is to be appended to the output if the worker dies before the next call. Empty:
  // nothing. Lines beyond 64 KiB are dropped.
  void Begin(const std::string& line);
  // Tells that the worker is alive.
  void Beat();

 private:
  friend int Supervise(const std::string& out, const std::function<int(Attempt&)>& work);

  static constexpr size_t kLineBytesMax = 64 << 10;
  uint64_t beats_ = 0;
  size_t line_bytes_ = 0;
  char line_[kLineBytesMax] = {};
};

// A worker returns this to be started again: its CUDA context is broken.
constexpr int kRestart = 75;

// Runs `work` in a child process, again and again until it returns something other than kRestart:
// a candidate that crashes, hangs or breaks the context costs only itself. After a crash, or a
// minute without a beat, the attempt's line goes to `out`. SIGTERM and SIGINT are handed on; the
// worker asks StopRequested(). REQUIRES: no thread and no CUDA call before. Returns the exit
// status.
int Supervise(const std::string& out, const std::function<int(Attempt&)>& work);

// Whether SIGTERM or SIGINT has come.
bool StopRequested();
void CatchStopSignals();

}  // namespace plait::cuda
