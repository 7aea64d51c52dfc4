"""A profile for Perfetto: one file, to that page alone, from this machine, until it was read."""

from __future__ import annotations

import threading
import urllib.error
import urllib.request

import pytest

from autograder.cli import perfetto
from autograder.cli.perfetto import Server
from autograder.errors import UserError


@pytest.fixture
def served(tmp_path):
    """A server of one file in a thread of its own."""
    file = tmp_path / "my trace.json"
    file.write_text('{"traceEvents": []}')
    server = Server(file, port=0)
    thread = threading.Thread(target=server.serve)
    thread.start()
    yield server, thread
    if thread.is_alive():
        urllib.request.urlopen(server.address.partition("url=")[2]).read()
    thread.join()


def test_the_page_of_perfetto_reads_the_file_and_the_server_ends(served):
    server, thread = served
    page, _, address = server.address.partition("/#!/?url=")
    with urllib.request.urlopen(address) as answer:
        said = answer.headers["Access-Control-Allow-Origin"], answer.read()
    thread.join()

    assert page == perfetto.UI
    assert address.startswith("http://127.0.0.1:")
    assert said == (perfetto.UI, b'{"traceEvents": []}')


def test_no_other_file_is_handed_out(served):
    server, thread = served
    address = server.address.partition("url=")[2].replace("my%20trace.json", "../etc/passwd")
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(address)

    assert thread.is_alive()


def test_a_port_that_is_taken_is_a_line(served, tmp_path):
    server, _ = served
    with pytest.raises(UserError, match=r"--open: port \d+ of this machine is taken"):
        Server(tmp_path / "x.json", port=server.server_address[1])


@pytest.mark.parametrize("name", ["report.sqlite", "stats.csv", "x.nsys-rep"])
def test_what_perfetto_does_not_read_is_refused(tmp_path, name):
    with pytest.raises(UserError, match=r"Perfetto reads what torch\.profiler writes"):
        perfetto.refuse(tmp_path / name)


def test_the_browser_is_sent_there(tmp_path, monkeypatch):
    """And what to do without one is said."""
    opened, said = [], []
    monkeypatch.setattr(perfetto.webbrowser, "open", opened.append)
    monkeypatch.setattr(perfetto.Server, "serve", lambda self: self.server_close())
    monkeypatch.setattr(perfetto, "PORT", 0)
    monkeypatch.setattr(perfetto.Server.__init__, "__defaults__", (0,))
    perfetto.show(tmp_path / "x.json.gz", said.append)

    assert opened[0] in said[0]
