#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "optimizer/onnx/attach_plan.h"
#include "optimizer/onnx/model.h"
#include "optimizer/search/kept_plans.h"
#include "optimizer/search/optimize.h"
#include "plait/v1/optimization.pb.h"
#include "server/search_child/further_plans.h"

namespace plait {

// What the file of a result holds for other runtimes, beside the plan for plait's own.
enum class Body {
  kOriginal,  // the original's bytes
  kPortable,  // a graph that was rewritten by what is as fast in other runtimes
  kSearched,  // the plan's graph, whatever rewrites it took
};

// "original", "portable" or "searched": the words of OptimizeOptions.body.
absl::string_view BodyName(Body body);

// The body of a job's result. With "auto" it is the original: only in another opset a rewritten
// graph has to carry what was found.
Body BodyOf(const v1::OptimizeOptions& options);

// What a result's file is made from. References must outlive it.
struct ResultFile {
  Body body = Body::kOriginal;
  absl::string_view bytes;  // of the original
  const Model& model;       // that was imported from them
  const SearchResult& found;
  // Of a rewritten body where it is not the found one, for which the plan is: that is said by the
  // weights of this one.
  const Graph* other_graph = nullptr;
  absl::Span<const SearchedPlan> further;  // whose plans the file has too; only with the original
  absl::Span<const KeptPlan> kept;         // of those that the original came with, the same
  bool has_plans = true;                   // the found ones, with the original's bytes
  int opset = 0;                           // see ExportOptions
  const std::string& engine_version;
};

// Those of ResultFile::kept that are in a file, which live as long as that.
using KeptInFile = std::vector<const KeptPlan*>;

// A result's file before it is written. Its parts are views into the original's bytes, or into the
// `body` of a rewritten graph.
struct MadeFile {
  std::unique_ptr<const std::string> body;  // null with the original's
  ModelWithPlan parts;
  KeptInFile kept;
};

// Makes the file, and appends to `warnings` what its readers will miss. A rewritten body is
// imported again and must be the graph that was verified; the original's bytes are kept. Behind the
// new plans are those of `kept` that are for something else. What `result` refers to must outlive
// the file. Errors: NOT_EQUIVALENT when it is another graph; those of ExportOnnx.
absl::StatusOr<MadeFile> MakeResultFile(const ResultFile& result,
                                        std::vector<std::string>& warnings);

// Writes it to the end of the descriptor `file`. Errors: STORAGE_UNAVAILABLE.
absl::Status WriteResultFile(const MadeFile& made, int file);

}  // namespace plait
