"""perflab trace --open: one profile handed to Perfetto in the browser, from a server on this machine alone."""

from __future__ import annotations

import webbrowser
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from urllib.parse import quote

from autograder.errors import UserError

UI = "https://ui.perfetto.dev"
PORT = 9001
"""The one of this machine that the page of Perfetto may read from."""
READ = (".json", ".json.gz")


def refuse(file: Path) -> None:
    """Refuse what Perfetto does not read."""
    if not file.name.endswith(READ):
        raise UserError(
            f"{file}: Perfetto reads what torch.profiler writes (.json, .json.gz); leave out --open"
        )


class Server(HTTPServer):
    """Has one file, and is done when that was read once."""

    def __init__(self, file: Path, port: int = PORT) -> None:
        """Listen on this machine alone."""
        self.file = file
        self.was_read = False
        try:
            super().__init__(("127.0.0.1", port), _OneFile)
        except OSError as problem:
            raise UserError(
                f"--open: port {port} of this machine is taken ({problem.strerror}); "
                "end what uses it, or open the file at https://ui.perfetto.dev by hand"
            ) from None

    @property
    def address(self) -> str:
        """The page that shows the file."""
        host, port = self.server_address[:2]
        return f"{UI}/#!/?url=http://{host!s}:{port}/{quote(self.file.name)}"

    def serve(self) -> None:
        """Answer until the file was read."""
        with self:
            while not self.was_read:
                self.handle_request()


class _OneFile(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        """Send the file, and nothing else."""
        if self.path != f"/{quote(self.server.file.name)}":
            self.send_error(404)
            return
        data = self.server.file.read_bytes()
        self.send_response(200)
        self.send_header("Access-Control-Allow-Origin", UI)
        self.send_header("Content-Type", "application/octet-stream")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
        self.server.was_read = True

    def log_message(self, *_: object) -> None:
        """Say nothing on the terminal."""


def show(file: Path, say: Callable[[str], None]) -> None:
    """Open the browser on a file, and wait until it was read."""
    refuse(file)
    server = Server(file)
    say(f"waits until {server.address} has read the file; Ctrl-C ends that")
    webbrowser.open(server.address)
    server.serve()
