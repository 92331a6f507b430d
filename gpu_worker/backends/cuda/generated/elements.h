#pragma once

#include <string>

#include "gpu_worker/backends/cuda/problem/problem.h"

namespace plait::cuda {

// Elements that are no floats, in the kernel language. Pure and thread-safe.

// What they are stored as: "T" for floats, "long long", "int", "short", "unsigned char" for bool,
// or "float" for fp32.
const char* StoredName(ElementType type);
// What is loaded and stored: floats whatever they are stored as, others as they are.
const char* HeldName(ElementType type);
// What is computed with: "float", "long long", "int", "short" or "bool"; "float" for both kinds of
// floats.
const char* ValueName(ElementType type);

// What makes of a stored float of one type one of another: "FromFloat", of fp32, or "ToFloat".
const char* CastFunction(ElementType to);

// The function that does it to a vector of elements: "LoadVector" of KernelPrelude() for `verb`
// "Load" and floats, "LoadElements" for others.
std::string VectorFunction(const std::string& verb, ElementType type);

// What the source of a kernel begins with that moves such elements; empty for floats.
std::string ElementVectors(ElementType type);

// What it begins with where anything is computed that is no float: the vectors, and what
// Expression::Source() calls.
std::string ElementFunctions();

}  // namespace plait::cuda
