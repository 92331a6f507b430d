#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "gpu_worker/backends/cuda/driver/result.h"

namespace plait::cuda {

// One line of JSON Lines with nothing nested but lists of numbers, lists of lists of numbers, lists
// of strings, and objects of numbers. Written for files of our own; hostile input gives an Error.
class FlatObject {
 public:
  // Errors: kInvalid, with the place.
  static Result<FlatObject> Parse(std::string_view line);

  bool Has(const std::string& name) const { return fields_.contains(name); }

  // The field, or the fallback where there is none or it has another type. An integer is a number
  // without a fraction within 2^53.
  std::string Text(const std::string& name, const std::string& fallback = "") const;
  double Number(const std::string& name, double fallback = 0) const;
  int64_t Integer(const std::string& name, int64_t fallback = 0) const;
  bool Bool(const std::string& name, bool fallback = false) const;
  std::vector<double> Numbers(const std::string& name) const;
  std::vector<int64_t> Integers(const std::string& name) const;
  std::vector<std::vector<int64_t>> IntegerLists(const std::string& name) const;

 private:
  friend class FlatReader;

  using NumberList = std::vector<double>;
  using Value =
      std::variant<std::nullptr_t, bool, double, std::string, NumberList, std::vector<NumberList>,
                   std::vector<std::string>, std::map<std::string, double>>;
  std::map<std::string, Value> fields_;
};

// Builds such a line, fields in the order of the calls. Numbers that are not finite become null.
class FlatWriter {
 public:
  FlatWriter& Add(const std::string& name, const std::string& value);
  FlatWriter& Add(const std::string& name, const char* value);
  FlatWriter& Add(const std::string& name, double value);
  FlatWriter& Add(const std::string& name, int64_t value);
  FlatWriter& Add(const std::string& name, int value) {
    return Add(name, static_cast<int64_t>(value));
  }
  FlatWriter& Add(const std::string& name, bool value);
  FlatWriter& Add(const std::string& name, const std::vector<std::string>& values);
  FlatWriter& Add(const std::string& name, const std::vector<double>& values);
  FlatWriter& Add(const std::string& name, const std::vector<std::vector<int64_t>>& values);
  // `json` is a value in JSON already.
  FlatWriter& AddRaw(const std::string& name, const std::string& json);

  // Without a line end.
  std::string Line() const { return "{" + text_ + "}"; }

 private:
  std::string text_;
};

// `text` as a JSON string.
std::string QuoteJson(std::string_view text);

}  // namespace plait::cuda
