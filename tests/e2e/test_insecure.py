"""Without TLS on any address: refused, allowed on request, told to whoever asks, and reached."""

import socket
import subprocess

import pytest

import networks
import programs


@pytest.fixture
def network():
    with networks.second_network() as name:
        yield name


def in_network(network, cli, *words):
    """Runs `plait` in the namespace."""
    return programs.Finished(subprocess.run(
        networks.command_in(network, [programs.program("plait"), *words]),
        env=cli.environment(), text=True, capture_output=True, check=False))


@pytest.mark.skipif(not networks.can_make, reason="needs root and ip")
def test_another_machine_reaches_it_on_request_and_is_warned(new_daemon, cli, network):
    daemon = new_daemon("--insecure-any-address", listen="0.0.0.0:0", is_secure=True).start()
    daemon.wait_for_worker()
    server = f"{networks.HOST}:{daemon.address.rpartition(':')[2]}"
    devices = in_network(network, cli, "devices", "--server", server, "--insecure", "--json")
    assert devices.expect(0).json["devices"][0]["id"] == "cpu"
    # TLS is what other addresses are spoken to with, unless somebody says otherwise.
    in_network(network, cli, "devices", "--server", server).expect(9)
    told = in_network(network, cli, "doctor", "--server", server, "--insecure").expect(0)
    assert "is served without TLS" in told.out
    assert "server.insecure" in {event["event"] for event in daemon.log_events()}


def test_nobody_is_an_operator_there(new_daemon):
    daemon = new_daemon("--insecure-any-address", "--workers", "none", listen="0.0.0.0:0",
                        is_secure=True).start()
    daemon.address = daemon.address.replace("0.0.0.0", "127.0.0.1")
    with daemon.client() as client:
        assert client.call("GetCapabilities").warnings
        with pytest.raises(Exception, match="PERMISSION_DENIED|not allowed"):
            client.call("GetServerState")


def test_a_loopback_address_warns_of_nothing(shared_daemon):
    with shared_daemon.client() as client:
        assert not client.call("GetCapabilities").warnings


def test_tls_and_its_absence_exclude_each_other(cli):
    finished = cli.run("devices", "--server", "10.0.0.1:7400", "--insecure", "--tls-ca", "x.pem")
    assert "--insecure: means no TLS" in finished.expect(2).last_error_line


def test_a_proxy_is_not_asked_for_this_machine(shared_daemon, cli, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as proxy:
        proxy.setblocking(False)
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{proxy.getsockname()[1]}")
        monkeypatch.delenv("no_proxy", raising=False)
        cli.run("jobs", "--server", shared_daemon.address).expect(0)
        with pytest.raises(BlockingIOError):
            proxy.accept()
