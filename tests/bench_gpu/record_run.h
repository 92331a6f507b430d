#pragma once

#include <string>
#include <vector>

namespace plait::cuda {

// Runs plait-gpu-record in a folder of its own, on a small kernel list, with --fake.
class RecordRun {
 public:
  RecordRun();
  ~RecordRun();
  RecordRun(const RecordRun&) = delete;
  RecordRun& operator=(const RecordRun&) = delete;

  // Returns the exit status of `plait-gpu-record <arguments>`; 128 + the signal if it died of one.
  int Run(const std::string& arguments) const;

  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  std::vector<std::string> Lines(const std::string& name) const;
  std::string Text(const std::string& name) const;
  void Write(const std::string& name, const std::string& text) const;

 private:
  std::string folder_;
};

}  // namespace plait::cuda
