#include "bench/gpu/flat_json.h"

#include <cmath>

#include "gtest/gtest.h"

namespace plait::cuda {
namespace {

TEST(FlatJsonTest, RoundTripsAwkwardValues) {
  const std::string text = "tab\t quote\" slash\\ line\n bell\x07 caf\xc3\xa9";
  const std::string line = FlatWriter()
                               .Add("text", text)
                               .Add("fraction", 0.1)
                               .Add("tiny", 1.2345678901234e-7)
                               .Add("big", int64_t{9007199254740992})
                               .Add("flag", true)
                               .Add("nan", std::nan(""))
                               .Add("lists", std::vector<std::vector<int64_t>>{{1, 2}, {}, {3}})
                               .Add("texts", std::vector<std::string>{"a", "b\""})
                               .Line();
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const auto parsed = FlatObject::Parse(line);
  ASSERT_TRUE(parsed.ok()) << parsed.error().message << "\n" << line;
  const FlatObject& object = parsed.value();
  EXPECT_EQ(object.Text("text"), text);
  EXPECT_EQ(object.Number("fraction"), 0.1);
  EXPECT_EQ(object.Number("tiny"), 1.2345678901234e-7);
  EXPECT_EQ(object.Integer("big"), 9007199254740992);
  EXPECT_TRUE(object.Bool("flag"));
  EXPECT_TRUE(object.Has("nan"));
  EXPECT_EQ(object.Number("nan", -1), -1);
  EXPECT_EQ(object.IntegerLists("lists"), (std::vector<std::vector<int64_t>>{{1, 2}, {}, {3}}));
}

TEST(FlatJsonTest, AnswersWithTheFallbackForAnotherType) {
  const auto parsed = FlatObject::Parse(R"({"a": 1.5, "b": "x", "c": [1, 2], "m": {"r": 3}})");
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed.value().Integer("a", 7), 7);
  EXPECT_EQ(parsed.value().Number("b", 7), 7);
  EXPECT_EQ(parsed.value().Text("c", "none"), "none");
  EXPECT_EQ(parsed.value().Integers("c"), (std::vector<int64_t>{1, 2}));
  EXPECT_TRUE(parsed.value().Integers("missing").empty());
  EXPECT_TRUE(parsed.value().Has("m"));
}

TEST(FlatJsonTest, ReadsEscapes) {
  const auto parsed = FlatObject::Parse(R"({"a":"\u0041\u00e9\u20ac\/\n"})");
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed.value().Text("a"), "A\xc3\xa9\xe2\x82\xac/\n");
}

TEST(FlatJsonTest, RefusesHostileLines) {
  for (const std::string line : {"",
                                 "{",
                                 "}",
                                 "[]",
                                 "null",
                                 "{\"a\"}",
                                 "{\"a\":}",
                                 "{\"a\":1,}",
                                 "{\"a\":1 \"b\":2}",
                                 "{\"a\":1}x",
                                 "{\"a\":1}{\"b\":2}",
                                 "{\"a\":1,\"a\":2}",
                                 "{\"a\":\"x}",
                                 "{\"a\":\"\\q\"}",
                                 "{\"a\":\"\\u12\"}",
                                 "{\"a\":\"\\ud800\"}",
                                 "{\"a\":[[[1]]]}",
                                 "{\"a\":[1,[2]]}",
                                 "{\"a\":[\"x\",[1]]}",
                                 "{\"a\":{\"b\":{\"c\":1}}}",
                                 "{\"a\":1e999}",
                                 "{\"a\":nan}",
                                 "{\"a\":-}",
                                 "{\"a\":+1}",
                                 "{\"a\":tru}",
                                 "{a:1}",
                                 "{\"a\":\"\n\"}"}) {
    EXPECT_FALSE(FlatObject::Parse(line).ok()) << line;
  }
  EXPECT_FALSE(FlatObject::Parse("{\"a\":" + std::string(1 << 20, '[')).ok());
}

TEST(FlatJsonTest, TruncatedLinesAreRefused) {
  const std::string line = R"({"a":"text","b":[1,2.5],"c":[[1],[2]],"d":{"e":1},"f":true})";
  ASSERT_TRUE(FlatObject::Parse(line).ok());
  for (size_t size = 0; size < line.size(); ++size) {
    EXPECT_FALSE(FlatObject::Parse(line.substr(0, size)).ok()) << line.substr(0, size);
  }
}

}  // namespace
}  // namespace plait::cuda
