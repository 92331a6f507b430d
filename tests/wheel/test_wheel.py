"""The wheel: what it holds, and that it needs nothing of the machine it is installed on."""

import re
import signal
import subprocess
import zipfile

from wheels import ROOT, programs

BYTES_MAX = 45 << 20


def test_it_is_small_and_for_every_python(wheel):
    assert wheel.stat().st_size <= BYTES_MAX
    python, abi, platform = wheel.stem.split("-")[-3:]
    assert (python, abi) == ("py3", "none")
    major, minor = re.fullmatch(r"manylinux_(\d+)_(\d+)_x86_64", platform).groups()
    assert (int(major), int(minor)) <= (2, 36)


def test_it_has_the_projects_version(wheel):
    version = re.search(r"project\(plait VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())
    assert wheel.name.startswith(f"plait-{version.group(1)}-")


def test_numpy_is_its_only_requirement(wheel):
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = archive.read(name).decode()
    required = re.findall(r"^Requires-Dist: (\S+?)[<>=;].*$", metadata, re.MULTILINE)
    optional = {extra: set(re.findall(rf"^Requires-Dist: (\S+?)[<>=].*extra == .{extra}", metadata,
                                      re.MULTILINE))
                for extra in ("client", "onnxruntime")}
    assert optional == {"client": {"grpcio", "protobuf"}, "onnxruntime": {"onnxruntime"}}
    assert set(required) - optional["client"] - optional["onnxruntime"] == {"numpy"}


def test_the_licence_of_every_library_comes_along(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        licences = {name.rpartition("/")[2]: archive.read(name).decode()
                    for name in names if name.startswith("plait/licences/")}
    for library, package in {"libgrpc-": "libgrpc29.txt", "libssl-": "libssl3.txt",
                             "libOpenCL-": "ocl-icd-libopencl1.txt"}.items():
        assert any(name.startswith(f"plait.libs/{library}") for name in names), library
        assert len(licences[package]) > 500
    # Of the copy, which has a name of its own.
    assert "plait/lib/plait/plaitdnnl.so" in names and "Intel" in licences["libdnnl-dev.txt"]
    for text in list(licences.values()):
        for licence in re.findall(r"/usr/share/common-licenses/([\w.+-]*\w)", text):
            assert licence in licences


def test_the_worker_of_other_runtimes_comes_along(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    folder = "plait/lib/plait/python/plait_runtime_worker"
    for name in ("__main__.py", "protocol.binpb", "runtimes/onnxruntime.py"):
        assert f"{folder}/{name}" in names


def test_there_is_one_onednn(wheel):
    with zipfile.ZipFile(wheel) as archive:
        large = [entry.filename for entry in archive.infolist() if entry.file_size > 20 << 20]
    assert large == ["plait/lib/plait/plaitdnnl.so"]


def test_the_programs_run_onednn_on_their_own_threads(bare):
    (worker,) = bare.folder.rglob("plait/bin/plait-worker")
    environment = {**bare.variables, "LD_BIND_NOW": "1", "LD_DEBUG": "bindings"}
    finished = subprocess.run([worker, "--check", "--device", "cpu"], text=True, check=True,
                              capture_output=True, env=environment)
    bound = re.findall(r"plaitdnnl\.so \[0\] to (\S+) \[0\]: normal symbol `(?:PLMP|plm)_",
                       finished.stderr)
    assert len(bound) == 6 and all(path.endswith("/plait-worker") for path in bound)


def test_every_library_is_found_inside_or_is_the_systems(bare):
    folder = next(bare.folder.rglob("plait/__init__.py")).parent.parent
    system = ("linux-vdso", "ld-linux", "libc.", "libm.", "libstdc++.", "libgcc_s.", "libz.")
    files = [*folder.glob("plait/bin/*"), *folder.glob("plait/lib/*.so*"),
             *folder.glob("plait/lib/plait/*.so"), *folder.glob("plait.libs/*")]
    assert len(files) > 30
    for file in files:
        out = subprocess.run(["ldd", file], text=True, capture_output=True, check=True).stdout
        for line in out.splitlines():
            name = line.split()[0].rpartition("/")[2]
            assert "not found" not in line and (
                name.startswith(system) or str(folder) in line or "statically linked" in line), (
                    f"{file}: {line}")


def test_the_command_line_is_the_program_itself(bare):
    expected = f"plait {bare.python('import plait; print(plait.__version__)')}"
    assert bare.run("plait", "version") == expected
    assert bare.run("python", "-m", "plait", "version") == expected
    for name in ("plaitd", "plait-worker"):
        assert name in bare.run(name, "--help")
    assert bare.finish("plait", "run", "none.onnx").returncode == 2
    # The process is the program, so that a signal reaches it.
    command = [bare.program("plaitd"), "--data-dir", bare.folder / "data", "--listen",
               "127.0.0.1:0", "--insecure", "--workers", "none"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          env=bare.variables) as process:
        try:
            assert f'"pid":{process.pid}' in process.stdout.readline()
            process.send_signal(signal.SIGTERM)
            assert process.wait(programs.RUN_SECONDS_MAX) == 0
        finally:
            process.kill()


def test_the_programs_look_for_runtimes_in_their_own_python(bare, model):
    variables = {**bare.variables, "PATH": "/nonexistent"}
    del variables["PLAIT_RUNTIMES_PYTHON"]
    words = [bare.program("plait"), "gate", model, model, "--runtime", "onnxruntime"]
    finished = subprocess.run(words, env=variables, text=True, capture_output=True, check=False)
    assert finished.returncode == 9
    assert "the interpreter has no onnxruntime (pip install onnxruntime)" in finished.stderr


def test_the_command_line_needs_no_numpy(bare):
    code = ("import sys; import plait; import plait.__main__; plait.Error; "
            "print(sorted({'numpy', 'grpc', 'google'} & set(sys.modules)))")
    assert bare.python(code) == "[]\n"


def test_a_session_runs(bare, model):
    code = ("import sys, numpy, plait; session = plait.InferenceSession(sys.argv[1]); "
            "image = numpy.ones(session.get_inputs()[0].shape, numpy.float32); "
            "print(numpy.isfinite(session.run(None, {'input': image})[0]).all())")
    assert bare.python(code, model) == "True\n"
