"""House rules that a machine can check. Each test names the file and line that breaks a rule."""

import ast
import graphlib
import pathlib
import re

from repository import ROOT, entries, relative, report, tracked

LINE_LENGTH_MAX = 100
SOURCE_LINES_MAX = 400
TEST_LINES_MAX = 600

IR = ["base", "optimizer/ir"]
OPS = [*IR, "optimizer/ops/shared", "optimizer/ops/evaluation"]

# Room -> the rooms that it may include besides itself, as the architecture draws it. A room is a
# folder; its sub-folders are rooms of their own.
MAY_INCLUDE = {
    "base": [],
    "optimizer/ir": ["base"],
    "optimizer/ops/shared": IR,
    "optimizer/ops/evaluation": [*IR, "optimizer/ops/shared"],
    "optimizer/ops": [*IR, "optimizer/ops/shared"],
    "optimizer/onnx/messages": IR,
    "optimizer/onnx": [*OPS, "optimizer/integer_form", "optimizer/onnx/messages"],
    "optimizer/rules/patterns": OPS,
    "optimizer/rules/laws": [*OPS, "optimizer/rules", "optimizer/rules/patterns"],
    "optimizer/rules/generator": [*OPS, "optimizer/rules/laws"],
    "optimizer/rules": [*OPS, "optimizer/rules/patterns"],
    "optimizer/normal_form": [*OPS, "optimizer/rules"],
    "optimizer/integer_form": [*OPS, "optimizer/rules", "optimizer/rules/patterns"],
    "optimizer/kernels": OPS,
    "optimizer/cost": [*OPS, "optimizer/kernels"],
    "optimizer/cost/devices": ["optimizer/cost"],
    "optimizer/cover": [*OPS, "optimizer/kernels", "optimizer/cost"],
    "optimizer/schedule": [*OPS, "optimizer/kernels", "optimizer/cost", "optimizer/cover"],
}
MAY_INCLUDE |= {
    "optimizer/schedule/policies": [*MAY_INCLUDE["optimizer/schedule"], "optimizer/schedule"],
    "optimizer/plan": [
        *MAY_INCLUDE["optimizer/schedule"],
        "optimizer/schedule",
        "optimizer/onnx",
    ],
}
PLANNING = [*MAY_INCLUDE["optimizer/plan"], "optimizer/plan"]
MAY_INCLUDE |= {"optimizer/search": [room for room in MAY_INCLUDE if room != "optimizer/ops"]}
OPTIMIZER = [*MAY_INCLUDE["optimizer/search"], "optimizer/search"]
# A worker runs plans and parses no model of a stranger's.
EXECUTING = [room for room in PLANNING if room != "optimizer/onnx"]
# What loads a model to run it, on any device.
LOADING = [*OPTIMIZER, "gpu_worker/executor", "gpu_worker/backends"]
CLIENT = [
    *LOADING,
    "loading",
    "proto/wire",
    "plait/v1",
]
CUDA = ["gpu_worker/backends/cuda/driver", "gpu_worker/backends/cuda/problem"]
# The names that a request may use: lists, read where they are checked.
NAMES = [
    "gpu_worker/backends/backends.def",
    "optimizer/schedule/policies.def",
    "optimizer/search/policies.def",
]
SERVICE = ["base", "proto/wire", "plait/v1", "storage"]
MAY_INCLUDE |= {
    # Errors travel as google.rpc's messages, which it alone reads and writes.
    # Only its targets of devices and measurements link the optimizer; storage links neither.
    "proto/wire": [
        *OPS,
        "optimizer/kernels",
        "optimizer/cost",
        "plait/v1",
        "plait/worker/v1",
        "plait/internal/rpc_status.pb.h",
        *NAMES,
    ],
    "storage": ["base", "proto/wire", "plait/v1"],
    "storage/files": SERVICE,
    "storage/sqlite": [*SERVICE, "storage/files"],
    "server/telemetry": ["base"],
    "server/workers": [
        *SERVICE,
        "plait/admin/v1",
        "plait/worker/v1",
        "server/telemetry",
    ],
    "server/search_child/protocol": ["base", "proto/wire"],
    "server/search_child": [
        *OPTIMIZER,
        "gpu_worker/backends/catalogs.h",
        # The inputs on which a worker compares, for runtimes that get them as bytes.
        "gpu_worker/executor/make_inputs.h",
        "proto/wire",
        "plait/v1",
        "plait/worker/v1",
        "plait/internal",
        "server/search_child/protocol",
    ],
    "server/jobs": [
        *SERVICE,
        "plait/worker/v1",
        "plait/internal",
        "server/telemetry",
        "server/workers",
        "server/search_child/protocol",
    ],
    "server/services": [
        *SERVICE,
        "plait/admin/v1",
        "plait/worker/v1",
        "server/telemetry",
        "server/workers",
    ],
    "server": [
        *SERVICE,
        "grpc/health/v1",
        "plait/admin/v1",
        "server/telemetry",
        "server/workers",
        "server/jobs",
        "server/services",
        "server/search_child",
        "server/search_child/protocol",
    ],
    "gpu_worker/executor": EXECUTING,
    "gpu_worker/backends/cpu": [],
    "gpu_worker/backends/cpu/loops": ["base"],
    # Which nodes a kernel takes is the same question on every device.
    "gpu_worker/backends/groups": [*OPS, "optimizer/kernels"],
    "gpu_worker/backends/cpu/offers": [
        *OPS,
        "optimizer/kernels",
        "gpu_worker/backends/cpu",
        "gpu_worker/backends/groups",
    ],
    "gpu_worker/backends/model/offers": [
        *OPS,
        "optimizer/cost",
        "optimizer/kernels",
        "gpu_worker/backends/cuda/offers",
    ],
    "gpu_worker/backends/cpu/team": ["base"],
    "gpu_worker/backends/cpu/microkernel": ["base"],
    "gpu_worker/backends/cpu/onednn": [
        "base",
        "optimizer/ir",
        "optimizer/kernels",
        "gpu_worker/backends/cpu/loops",
        "gpu_worker/backends/cpu/team",
    ],
    "gpu_worker/backends/cpu/run": [
        *EXECUTING,
        "gpu_worker/executor",
        "gpu_worker/backends/cpu",
        "gpu_worker/backends/cpu/loops",
        "gpu_worker/backends/cpu/offers",
        "gpu_worker/backends/cpu/onednn",
        "gpu_worker/backends/cpu/team",
        "gpu_worker/backends/groups",
    ],
    "gpu_worker/backends/cpu/kernels": [
        *OPS,
        "optimizer/kernels",
        "gpu_worker/backends/cpu/loops",
        "gpu_worker/backends/cpu/microkernel",
        "gpu_worker/backends/cpu/offers",
        "gpu_worker/backends/cpu/onednn",
        "gpu_worker/backends/cpu/run",
        "gpu_worker/backends/cpu/team",
        "gpu_worker/backends/groups",
    ],
    "gpu_worker/backends": [*EXECUTING, "gpu_worker/executor"],
    "gpu_worker/backends/cuda": [],
    "gpu_worker/backends/cuda/driver": [],
    "gpu_worker/backends/cuda/problem": ["gpu_worker/backends/cuda/driver"],
    "gpu_worker/backends/cuda/offers": [
        *OPS,
        "optimizer/kernels",
        "gpu_worker/backends/groups",
        "gpu_worker/backends/cuda",
        "gpu_worker/backends/cuda/driver",
        "gpu_worker/backends/cuda/generated",
        "gpu_worker/backends/cuda/problem",
    ],
    "gpu_worker/backends/cuda/cublaslt": CUDA,
    "gpu_worker/backends/cuda/cudnn": CUDA,
    "gpu_worker/backends/cuda/generated": CUDA,
    "gpu_worker/backends/cuda/run": [
        *EXECUTING,
        *CUDA,
        "gpu_worker/executor",
        "gpu_worker/backends/cuda",
        "gpu_worker/backends/cuda/cublaslt",
        "gpu_worker/backends/cuda/cudnn",
        "gpu_worker/backends/cuda/offers",
    ],
    # Tests and tools only; it takes NVRTC from the backend.
    "gpu_worker/simulated_gpu": ["base", "gpu_worker/backends/cuda/driver"],
    "gpu_worker/simulated_gpu/replay": ["base", "gpu_worker/simulated_gpu"],
    "gpu_worker/simulated_gpu/driver": [
        "base",
        "gpu_worker/backends/cuda/driver",
        "gpu_worker/simulated_gpu",
        "gpu_worker/simulated_gpu/replay",
    ],
    "gpu_worker/simulated_gpu/cublaslt": [
        "base",
        "gpu_worker/backends/cuda/cublaslt",
        "gpu_worker/simulated_gpu",
        "gpu_worker/simulated_gpu/driver",
    ],
    "gpu_worker/simulated_gpu/cudnn": [
        "base",
        "gpu_worker/backends/cuda/cudnn",
        "gpu_worker/simulated_gpu",
        "gpu_worker/simulated_gpu/driver",
    ],
    "gpu_worker/simulated_gpu/libraries": [
        "base",
        "gpu_worker/backends/cuda/driver",
        "gpu_worker/simulated_gpu/cublaslt",
        "gpu_worker/simulated_gpu/cudnn",
        "gpu_worker/simulated_gpu/driver",
    ],
    "gpu_worker/process": [
        *EXECUTING,
        "proto/wire",
        "plait/v1",
        "plait/worker/v1",
        "gpu_worker/executor",
        "gpu_worker/backends",
    ],
    "loading/host_nodes": [*IR, "optimizer/onnx/messages"],
    "loading": [*LOADING, "loading/host_nodes"],
    "runtime": [*LOADING, "loading", "plait"],
    "runtime/include/plait": [],
    "client/files": CLIENT,
    "client/doctor": CLIENT,
    "client/gate": [*CLIENT, "client/files"],
    "client/kernel_list": [
        *CLIENT,
        "gpu_worker/backends/cuda/offers",
        "gpu_worker/backends/cuda/problem",
    ],
    "client": [*CLIENT, "client/files", "client/gate", "client/kernel_list"],
    "client/commands": [
        *CLIENT,
        "client/doctor",
        "client/files",
        "client/gate",
        "client/kernel_list",
        "client",
    ],
}

# Headers of base/ that a pure folder may not include.
IMPURE = ["base/clock.h", "base/file_descriptor.h", "base/process.h"]

# Libraries whose headers are included in quotes.
THIRD_PARTY = ["absl/", "google/protobuf/", "nlohmann/", "oneapi/", "onnx/", "protozero/"]

# A third-party header -> the only folders (or files) that see it.
ONLY_IN = {
    r"sqlite3\.h": ["storage/sqlite/"],
    r"grpcpp/": ["server", "client", "gpu_worker/process/main.cc", "gpu_worker/", "proto/wire"],
    # Of the tests only: what plait loads into other programs has to get along with their copies.
    r"onnx/": [],
    r"oneapi/": ["gpu_worker/backends/cpu/onednn"],
    r"protozero/": ["optimizer/onnx/messages"],
    r"toml\+\+/": ["server"],
    r"xbyak/": ["gpu_worker/backends/cpu/microkernel/assemble.cc"],
    r"(cuda|cudnn|cublasLt|nvrtc)\w*\.h": [
        "gpu_worker/backends/cuda",
        "gpu_worker/simulated_gpu/cublaslt",
        "gpu_worker/simulated_gpu/cudnn",
        "gpu_worker/simulated_gpu/driver",
        "bench/gpu",
    ],
    r"prometheus/": ["server"],
}

BANNED = {
    r"\bTODO\b|\bFIXME\b|\bXXX\b": "unfinished business",
    r"\busing namespace\b": "using namespace",
    r"\bthrow\b": "throw",
    # A smart pointer may take what a private constructor makes: unique_ptr<T>(new T(..)).
    r"(?<!\()\bnew\s+[A-Z]\w*": "new",
    r"(?<!= )\bdelete\b\s+\w": "delete",
}


# What a folder that a list names may include unless the table above says it.
PLUG_IN_ROOMS = {
    ("gpu_worker/backends/backends.def", "gpu_worker/backends/{}/offers"): [
        *OPS,
        "optimizer/kernels",
    ],
    ("gpu_worker/backends/backends.def", "gpu_worker/backends/{}/run"): [
        *EXECUTING,
        "gpu_worker/executor",
    ],
    ("storage/stores.def", "storage/{}"): [*SERVICE, "storage/files"],
}


def cpp_sources():
    return tracked("*.cc", "*.h")


def production(path):
    # Examples are a user's programs, and as such no part of ours.
    return not relative(path).startswith(("tests/", "bench/", "runtime/examples/"))


def without_comments_and_strings(text):
    text = re.sub(r'R"\w*\((.|\n)*?\)\w*"', '""', text)
    text = re.sub(r'"(\\.|[^"\\\n])*"', '""', text)
    text = re.sub(r"//[^\n]*", "", text)
    return re.sub(r"/\*(.|\n)*?\*/", lambda m: "\n" * m.group().count("\n"), text)


def test_lines_and_files_are_short():
    faults = []
    for path in cpp_sources() + tracked("*.py", "*.proto"):
        lines = path.read_text().splitlines()
        limit = SOURCE_LINES_MAX if production(path) else TEST_LINES_MAX
        if len(lines) > limit:
            faults.append(f"{relative(path)}: {len(lines)} lines, at most {limit}")
        for number, line in enumerate(lines, 1):
            if len(line) > LINE_LENGTH_MAX and "http" not in line:
                faults.append(f"{relative(path)}:{number}: {len(line)} columns")
    report(faults)


def constants(path):
    """Lines and names that a Python file assigns at its top level in capitals."""
    for node in ast.parse(path.read_text()).body:
        for target in node.targets if isinstance(node, ast.Assign) else ():
            if isinstance(target, ast.Name) and target.id.isupper():
                yield node.lineno, target.id


def test_no_constant_is_assigned_twice():
    # A test that comes first would run what was meant for another.
    faults = []
    for path in tracked("*.py"):
        seen = set()
        for line, name in constants(path):
            if name in seen:
                faults.append(f"{relative(path)}:{line}: {name} is assigned before")
            seen.add(name)
    report(faults)


def test_banned_constructs():
    faults = []
    for path in cpp_sources():
        if not production(path):
            continue
        text = without_comments_and_strings(path.read_text())
        text = re.sub(r"\(\s+", "(", text)
        for pattern, name in BANNED.items():
            for match in re.finditer(pattern, text):
                faults.append(f"{relative(path)}: {name}: {text[match.start() :][:60]!r}")
    report(faults)


def test_headers_have_pragma_once():
    # A *_body.h is included once for every instruction set that it is compiled for.
    headers = [p for p in tracked("*.h") if not p.name.endswith("_body.h")]
    report([relative(p) for p in headers if "#pragma once" not in p.read_text()])


def room_of(name):
    """The room that a file, named from the top, lies in."""
    return name.rpartition("/")[0]


def rooms():
    """MAY_INCLUDE, with the rooms of every plug-in that is a folder."""
    plug_ins = {
        room.format(name): allowed
        for (listed, room), allowed in PLUG_IN_ROOMS.items()
        for name in entries(listed, r"^PLAIT_\w+")
    }
    return plug_ins | MAY_INCLUDE


def test_includes_follow_the_architecture():
    may_include = rooms()
    faults = []
    for path in cpp_sources():
        room = room_of(relative(path))
        if not production(path):
            continue
        if room not in may_include:
            faults.append(f"{relative(path)}: no room of the architecture")
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = re.match(r'#include "([^"]+)"', line)
            if not match or match.group(1).startswith(tuple(THIRD_PARTY)):
                continue
            if not {match.group(1), room_of(match.group(1))} & {room, *may_include[room]}:
                place = f"{relative(path)}:{number}"
                faults.append(f"{place}: {room} may not include {match.group(1)}")
    report(faults)


def test_no_two_rooms_include_each_other():
    order = graphlib.TopologicalSorter(rooms())
    order.prepare()  # raises CycleError, which names the circle


def test_the_optimizer_is_pure():
    faults = []
    for path in cpp_sources():
        if not relative(path).startswith("optimizer/"):
            continue
        for name in IMPURE:
            if f'#include "{name}"' in path.read_text():
                faults.append(f"{relative(path)}: {name}")
    report(faults)


def test_third_party_headers_stay_in_their_wrappers():
    faults = []
    for path in cpp_sources():
        if not production(path):
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = re.match(r'#include [<"]([^>"]+)[>"]', line)
            for pattern, folders in ONLY_IN.items():
                if match and re.match(pattern, match.group(1)):
                    if not relative(path).startswith(tuple(folders)):
                        faults.append(f"{relative(path)}:{number}: {match.group(1)}")
    report(faults)


def built_by(cmake_file):
    """The sources that a CMakeLists.txt lists, and those that its globs find."""
    text = re.sub(r"#.*", "", cmake_file.read_text())
    text = re.sub(r"\$\{(PROJECT_SOURCE_DIR|plait_root)\}", ROOT.as_posix(), text)
    text = text.replace("${CMAKE_CURRENT_LIST_DIR}", cmake_file.parent.as_posix())
    for word in re.findall(r"[^\s()\";]+\.cc|[^\s()\";]+\.cu", text):
        if "$" in word:
            continue
        place = pathlib.Path(word) if word.startswith("/") else cmake_file.parent / word
        for path in ROOT.glob(place.relative_to(ROOT).as_posix()):
            yield path


def test_every_source_is_built():
    built = {path for lists in tracked("*CMakeLists.txt") for path in built_by(lists)}
    sources = tracked("*.cc", "*.cu")
    report([f"{relative(path)}: no target builds it" for path in sources if path not in built])


def test_no_two_python_tests_have_one_name():
    """pytest imports them by that, and only one of a run; those of bench/gpu are a run of their
    own."""
    paths = {}
    for path in tracked("tests/**/test_*.py"):
        if not relative(path).startswith("tests/bench_gpu/"):
            paths.setdefault(path.name, []).append(relative(path))
    report([" and ".join(same) for same in paths.values() if len(same) > 1])
