#include "tests/bench_gpu/record_run.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <stdlib.h>
#include <sys/wait.h>

namespace plait::cuda {
namespace {

std::string Line(const std::string& family, const std::string& graph, const std::string& formats,
                 const std::string& problem) {
  return R"({"family":")" + family + R"(","graph":"graph {\n)" + graph + R"(}\n","formats":")" +
         formats + R"(","cold_weights":true,)" + problem +
         R"(,"models":{"small":1},"origin":"model","priority":0})" + "\n";
}

std::string KernelList() {
  return Line("conv",
              R"(  input %x: float32[1,4,6,6]\n  const %w: float32[8,4,3,3] = synthetic 0\n)"
              R"(  %y: float32[1,8,6,6] = Conv(%x, %w) {pads=[1,1,1,1]}\n  output %y\n)",
              "plain,plain",
              R"("problem":"conv","n":1,"c":4,"h":6,"w":6,"k":8,"r":3,"s":3,"pad":[1,1,1,1])") +
         Line("matmul",
              R"(  input %x: float32[8,16]\n  const %w: float32[16,12] = synthetic 0\n)"
              R"(  %y: float32[8,12] = MatMul(%x, %w) {}\n  output %y\n)",
              "plain,plain", R"("problem":"gemm","m":8,"n":12,"k":16)") +
         Line("softmax",
              R"(  input %x: float32[4,10]\n  %y: float32[4,10] = Softmax(%x) {axis=-1}\n)"
              R"(  output %y\n)",
              "plain,plain", R"("problem":"rows","kind":"softmax","rows":4,"columns":10)") +
         Line("elementwise",
              R"(  input %x: float32[1,4,3,3]\n  %y: float32[1,4,3,3] = Relu(%x) {}\n)"
              R"(  output %y\n)",
              "plain,plain",
              R"json("problem":"elementwise","expression":"relu(x0)","shape":[1,4,3,3],)json"
              R"("inputs":[[1,4,3,3]])");
}

}  // namespace

RecordRun::RecordRun() {
  folder_ = (std::filesystem::temp_directory_path() / "plait_record_XXXXXX").string();
  if (mkdtemp(folder_.data()) == nullptr) std::abort();
  Write("kernels.jsonl", KernelList());
}

RecordRun::~RecordRun() { std::filesystem::remove_all(folder_); }

int RecordRun::Run(const std::string& arguments) const {
  const std::string command =
      "cd " + folder_ + " && " + PLAIT_GPU_RECORD + " " + arguments + " >stdout.txt 2>stderr.txt";
  const int status = std::system(command.c_str());
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

std::vector<std::string> RecordRun::Lines(const std::string& name) const {
  std::vector<std::string> lines;
  std::ifstream file(Path(name));
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

std::string RecordRun::Text(const std::string& name) const {
  std::stringstream text;
  text << std::ifstream(Path(name)).rdbuf();
  return text.str();
}

void RecordRun::Write(const std::string& name, const std::string& text) const {
  std::ofstream(Path(name)) << text;
}

}  // namespace plait::cuda
