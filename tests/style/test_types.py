"""A name is one type in a namespace: of two, a linker keeps the inline functions of one of them."""

import collections
import re

from repository import relative, report, tracked

NAMESPACE = re.compile(r"(?:inline )?namespace ?([\w:]*) \{")
TYPE = re.compile(r"(?:struct|class|enum class|enum) (\w+)(?: final)?(?: : [^{;]*)? ?\{")


def types_of(text):
    """Types that a source defines and other sources may see, with their namespaces."""
    namespaces = []
    for line in text.splitlines():
        opened = NAMESPACE.match(line)
        if opened:
            namespaces.append(opened.group(1))
        elif re.match(r"\}  // namespace", line):
            namespaces.pop()
        defined = TYPE.match(line)
        if defined and "" not in namespaces:
            yield "::".join([*namespaces, defined.group(1)])


def test_the_search_sees_types_that_others_may_see():
    text = """
namespace plait {
namespace {
struct Own {
};
}  // namespace
struct Point {
};
class Point::Part {
};
namespace internal {
enum class Kind : char {
};
}  // namespace internal
}  // namespace plait
"""
    assert list(types_of(text)) == ["plait::Point", "plait::internal::Kind"]


def test_no_two_types_have_one_name():
    places = collections.defaultdict(list)
    for path in tracked("*.h", "*.cc"):
        for name in types_of(path.read_text()):
            places[name].append(relative(path))
    assert len(places) > 500
    report([f"{name} is defined in {' and '.join(files)}"
            for name, files in sorted(places.items()) if len(files) > 1])
