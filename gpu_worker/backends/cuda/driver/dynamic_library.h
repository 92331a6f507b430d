#pragma once

#include <initializer_list>
#include <string>
#include <utility>

#include "gpu_worker/backends/cuda/driver/result.h"

namespace plait::cuda {

// A shared library opened at run time, so that a program starts on machines that lack it.
// It stays loaded until the process ends: the CUDA libraries do not survive being unloaded.
// Thread-safe.
// A copy refers to the same library. What it gives out stays valid, since nothing is unloaded.
class DynamicLibrary {
 public:
  // Opens the first of `names` (dlopen: a soname or a path) that can be opened.
  // A soname with its version ("libcudnn.so.9") finds what the headers were written for.
  // Errors: kUnavailable, with what the loader said about the last name.
  static Result<DynamicLibrary> Open(std::initializer_list<const char*> names);

  // The function `name`, as in library.Symbol<decltype(cudnnCreate)>("cudnnCreate").
  // The type is the caller's word: nothing in a shared library says what a function takes.
  // Errors: kUnavailable.
  template <class Function>
  Result<Function*> Symbol(const char* name) const {
    Result<void*> address = Address(name);
    if (!address.ok()) return address.error();
    return reinterpret_cast<Function*>(address.value());
  }

  // Stores the function `name` in `function`; the first failure of many such calls goes to
  // `status`.
  // The function stays as it was when it is missing.
  template <class Function>
  void Load(const char* name, Function** function, Status* status) const {
    Result<Function*> symbol = Symbol<Function>(name);
    if (symbol.ok()) {
      *function = symbol.value();
    } else if (status->ok()) {
      *status = symbol.error();
    }
  }

  // The name by which the library was opened.
  const std::string& name() const { return name_; }

 private:
  DynamicLibrary(void* handle, std::string name) : handle_(handle), name_(std::move(name)) {}

  Result<void*> Address(const char* name) const;

  // The loader's handle, never null.
  void* handle_;
  std::string name_;
};

}  // namespace plait::cuda
