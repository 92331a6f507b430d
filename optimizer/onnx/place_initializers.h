#pragma once

#include "optimizer/onnx/model_parts.h"

namespace plait {

// Where the bytes of a file lie suits no element, and what packs weights wants aligned ones. Moves
// the elements that initializers of `parts->proto` look at in `parts->bytes` to the nearest place
// in front of them where an element may lie, over what is left there of the field's own header, on
// up to `threads` threads. Elements without as much room in front of them are copied into the
// proto. Comes before anything else looks at them.
void PlaceInitializers(int threads, ModelParts* parts);

}  // namespace plait
