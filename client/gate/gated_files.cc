#include "client/gate/gated_files.h"

#include <utility>

#include "base/status_macros.h"
#include "client/files/file.h"
#include "client/files/model.h"
#include "gpu_worker/executor/make_inputs.h"
#include "loading/model_file.h"
#include "proto/wire/error.h"

namespace plait {

absl::StatusOr<std::vector<GatedFile>> ReadGatedFiles(absl::Span<const std::string> paths,
                                                      const Bindings& shapes, uint64_t seed,
                                                      std::vector<std::string>* warnings) {
  std::vector<GatedFile> files;
  std::vector<Model> models;
  for (const std::string& path : paths) {
    PLAIT_ASSIGN_OR_RETURN(std::string bytes, ReadModelFile(path));
    absl::StatusOr<Model> model = ImportModelBytes(bytes);
    if (!model.ok()) {
      return wire::WithReason(Annotate(model.status(), path), v1::ERROR_REASON_MODEL_REJECTED);
    }
    models.push_back(*std::move(model));
    files.push_back({path, std::move(bytes), {}});
  }
  for (size_t i = 0; i < files.size(); ++i) {
    PLAIT_ASSIGN_OR_RETURN(
        const Bound bound,
        BindToRun(paths[i], models[i], {}, ShapesOfAny(models[i], models, shapes), warnings));
    absl::StatusOr<std::vector<Tensor>> inputs = MakeInputs(bound.graph, seed);
    if (!inputs.ok()) return Annotate(inputs.status(), paths[i]);
    for (size_t input = 0; input < inputs->size(); ++input) {
      const TensorId id = bound.graph.inputs()[input];
      files[i].inputs.emplace_back(*bound.graph.tensor(id).name, std::move((*inputs)[input]));
    }
  }
  return files;
}

}  // namespace plait
