#pragma once

#include "absl/status/status.h"

namespace plait {

// Makes oneDNN ready to be called, once per process, with its parallel regions on our team
// (../team/openmp.h). Which of two ways is taken is decided when a program or library is linked:
//
//   linked_onednn.cc   a program of our own. It defines GCC's OpenMP functions itself, and a
//                      program's functions come before those of its libraries.
//   private_onednn.cc  a shared library in a program of somebody else, which may have a libdnnl and
//                      an OpenMP library too. It opens a copy of oneDNN that nobody else can meet
//                      (make_private.py), and defines oneDNN's functions to call that copy.
//
// Thread-safe. Nothing of oneDNN may be called before this has returned OK.
// Errors: FailedPrecondition when oneDNN's threads would be others than the team's; NotFound when
// the copy is not where it was installed.
absl::Status OpenOnednn();

}  // namespace plait
