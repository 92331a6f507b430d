#pragma once

namespace plait {

// The whole life of a search child: takes the limits that it was started with, reads Start from
// kChildSocket, imports the model from kChildModel, searches, writes the optimized model to
// kChildOutput and sends the result. Everything that it knows of the world comes through these
// descriptors. `limits` is the text that SearchChildProcess passes. Returns the exit code.
int SearchChildMain(const char* limits);

}  // namespace plait
